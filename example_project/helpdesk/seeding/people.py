"""Who works at the shop, and what its customers are called."""

DOMAIN = "veloworks.example"

# (user name, first name, last name)
AGENTS = (
    ("agent", "Mara", "Okafor"),
    ("tom", "Tom", "Brandt"),
    ("aylin", "Aylin", "Demir"),
    ("giulia", "Giulia", "Ferrari"),
    ("henrik", "Henrik", "Solberg"),
    ("nora", "Nora", "Petersen"),
    ("samir", "Samir", "Haddad"),
    ("lea", "Lea", "Fontaine"),
    ("piotr", "Piotr", "Nowak"),
)

FIRST_NAMES = (
    "Anna", "Ben", "Carla", "David", "Elena", "Felix", "Greta", "Hannah", "Ivan", "Julia", "Karim", "Laura",
    "Marco", "Nadia", "Oskar", "Paula", "Quentin", "Rosa", "Stefan", "Tessa", "Umut", "Vera", "William", "Yara",
)  # fmt: skip
LAST_NAMES = (
    "Adler", "Becker", "Castillo", "Dubois", "Engel", "Fischer", "Gruber", "Hughes", "Ivanova", "Jansen", "Keller",
    "Lehmann", "Moreau", "Novak", "Olsen", "Peters", "Quinn", "Rossi", "Schulz", "Taylor", "Ullrich", "Vogel",
    "Walker", "Young", "Zimmermann",
)  # fmt: skip

# (city, language of most people there)
CITIES = (
    ("Hamburg", "de"), ("Berlin", "de"), ("Leipzig", "de"), ("Vienna", "de"), ("Zurich", "de"), ("Cologne", "de"),
    ("London", "en"), ("Dublin", "en"), ("Utrecht", "en"), ("Copenhagen", "en"), ("Ghent", "en"), ("Bristol", "en"),
)  # fmt: skip
COMPANIES = (
    "Harbour Couriers", "Blue Door Bakery", "Stadtrad Leasing", "Northside Physiotherapy", "Kanzlei Winter",
    "Greenline Catering", "Campus Mobility", "Alster Pflegedienst", "Lockwood Architects", "Postwerk Nord",
)  # fmt: skip
