"""What goes wrong with bicycles and their shop: the questions, how agents answer, and what they note down.

A text may use {product}, {order}, {city}, {part}, {amount} and {days}.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    queue: str
    subject: str
    description: str
    answers: tuple[str, ...]
    replies: tuple[str, ...]
    note: str
    attachment: str = ""


# (short name, name, what belongs there, hours until a response)
QUEUES = (
    ("orders", "Orders and delivery", "Everything between the click on Buy and the doorbell.", 24),
    ("workshop", "Workshop and warranty", "Repairs, recalls, spare parts and warranty claims.", 48),
    ("billing", "Invoices and payments", "Invoices, refunds, company leasing and payment trouble.", 24),
    ("returns", "Returns and exchanges", "What did not fit, did not please or arrived damaged.", 36),
    ("app", "App and account", "The Veloworks app, the tracker and the customer account.", 12),
)

PRODUCTS = ("Tern Harbour 7", "Falk Commuter", "Falk Commuter Plus", "Dune Cargo XL", "Kite Gravel 2", "Minnow 20")
PARTS = ("display", "battery", "rear light", "belt drive", "brake lever", "motor cover", "front rack", "charger")

PROBLEMS = (
    Problem(
        queue="orders",
        subject="Order {order} has not arrived",
        description="My {product} was due {days} days ago. Tracking has said 'in transit' in {city} ever since. "
        "Could you find out where it is?",
        answers=(
            "The carrier found the parcel in their {city} depot. A new delivery is booked for tomorrow.",
            "I have opened a search with the carrier. They answer within two working days.",
        ),
        replies=("It has just arrived, thank you.", "Nothing came today either. Can you call them?"),
        note="Carrier case opened, depot {city}. Call again if there is no scan by noon.",
        attachment="tracking.txt",
    ),
    Problem(
        queue="orders",
        subject="Wrong delivery address on order {order}",
        description="I moved to {city} last week and the order still has my old address. Can it be changed before "
        "the {product} is shipped?",
        answers=("I have changed the address; the bicycle leaves the warehouse on Thursday.",),
        replies=("That is the right address now.",),
        note="Address changed by hand in the warehouse system, order {order}.",
    ),
    Problem(
        queue="orders",
        subject="When is the {product} back in stock?",
        description="The shop page says 'soon' for weeks. We need two of them for our staff in {city}, so a month "
        "would be enough to plan with.",
        answers=("The next container is expected in {days} days. I have reserved two for you.",),
        replies=("Perfect, please keep them for us.", "That is later than we can wait. Is there an alternative?"),
        note="Two reserved from the next container. Release them if there is no order within a week.",
    ),
    Problem(
        queue="orders",
        subject="Parts missing in the box of order {order}",
        description="The {product} arrived today, but the {part} is missing. The packing list says it is in the box.",
        answers=("I am sorry. The {part} leaves our warehouse today by express.",),
        replies=("Received and mounted, thanks.",),
        note="Third missing {part} this month. Told the packing team.",
        attachment="packing-list.txt",
    ),
    Problem(
        queue="workshop",
        subject="{product}: motor cuts out on hills",
        description="After about ten minutes uphill the motor of my {product} stops and shows E-42. It comes back when "
        "I switch it off and on. It has been ridden for {days} weeks.",
        answers=(
            "E-42 is the torque sensor. Please bring it to our workshop in {city}; the repair is covered by warranty.",
            "A firmware update often helps. Please update through the app and tell us if it comes back.",
        ),
        replies=("The update did it, no more errors.", "Still E-42, even after the update."),
        note="Known sensor fault of the spring batch. Swap the sensor, do not open the motor.",
        attachment="motor-log.txt",
    ),
    Problem(
        queue="workshop",
        subject="Squeaking {part} on my {product}",
        description="Since the first rain the {part} squeaks at every turn. I have cleaned and oiled what I could "
        "reach, without success.",
        answers=("Please do not oil it: that makes it worse. We replace the {part} free of charge.",),
        replies=("When can I come by?", "The new one is silent."),
        note="Send a new {part}; the old one does not have to come back.",
    ),
    Problem(
        queue="workshop",
        subject="Battery of the {product} does not charge above 80%",
        description="The charger turns green at 80% and the range is down to {days} kilometres. It is less than a "
        "year old. Is that a case for the warranty?",
        answers=("Yes, it is. Please send us the serial number under the handle, and we ship a new battery.",),
        replies=("The number is BT-{order}.", "The new battery is here and charges to 100%."),
        note="Batch within the recall. Old battery must be collected, it may not be posted.",
        attachment="battery-report.txt",
    ),
    Problem(
        queue="workshop",
        subject="Appointment for the first service",
        description="My {product} has reached 500 km. I would like to bring it in for the first service in {city}, "
        "best on a Friday.",
        answers=("Friday at 9:00 is free and reserved for you. It takes about two hours.",),
        replies=("Booked, see you then.",),
        note="First service, 500 km. Check the {part} as well.",
    ),
    Problem(
        queue="workshop",
        subject="Brakes of the {product} feel soft",
        description="The rear brake lever of my {product} can be pulled to the grip. I ride with a child seat, so I "
        "have stopped using it. How fast can you repair it?",
        answers=("Please do not ride it. Our van collects it in {city} tomorrow between 8 and 12.",),
        replies=("Collected, thank you for being so fast.",),
        note="Safety: bleed and pressure test before it is returned.",
    ),
    Problem(
        queue="billing",
        subject="Charged twice for order {order}",
        description="My card statement shows {amount} euros twice, both on the same day. Please return one of them.",
        answers=("The second charge was a reservation and is released within {days} days. I have confirmed it.",),
        replies=("It is gone now.", "A week later both are still on my statement."),
        note="Payment provider: one capture, one expired authorisation. Nothing to refund.",
        attachment="statement.txt",
    ),
    Problem(
        queue="billing",
        subject="Invoice with our VAT number",
        description="We need the invoice of order {order} with our company's VAT number. The one we got is addressed "
        "to a private person.",
        answers=("The corrected invoice is attached. The old one is cancelled.",),
        replies=("Our accounting is happy, thank you.",),
        note="Cancelled and reissued. Company flag was missing in the account.",
        attachment="invoice.txt",
    ),
    Problem(
        queue="billing",
        subject="Refund of {amount} euros not received",
        description="I returned a {product} {days} days ago and have heard nothing about the money since.",
        answers=("The refund was sent yesterday to the account you paid from. Banks take up to three days.",),
        replies=("It has arrived.", "Which account exactly? I closed the old one."),
        note="Refund released after the warehouse confirmed the return.",
    ),
    Problem(
        queue="billing",
        subject="Leasing contract: how do we add a second bicycle?",
        description="Our company leases a {product} through you. A colleague in {city} would like one as well. Do we "
        "need a new contract?",
        answers=("No, an addendum is enough. I have sent it to the address in your account.",),
        replies=("Signed and returned.",),
        note="Addendum sent. Leasing partner wants the first rate of {amount} euros in advance.",
    ),
    Problem(
        queue="returns",
        subject="{product} is too small, can I exchange it?",
        description="I am 1.92 m tall and the frame in size M is too small after all. It was ridden once around the "
        "block. Can I have size L instead?",
        answers=("Of course. We bring size L to {city} and take the other one along, free of charge.",),
        replies=("Great, any day but Monday.", "Size L fits."),
        note="Exchange M against L, ridden once. Check the frame for scratches.",
    ),
    Problem(
        queue="returns",
        subject="Scratch on the frame of my new {product}",
        description="When I unpacked it, there was a long scratch on the down tube. I would keep it for a discount.",
        answers=("I can offer {amount} euros off, or a new one in {days} days. Which do you prefer?",),
        replies=("I take the discount.", "Then I would rather have a new one."),
        note="Transport damage, photo is good enough for the carrier's insurance.",
        attachment="damage-report.txt",
    ),
    Problem(
        queue="returns",
        subject="How do I send back order {order}?",
        description="The {part} I ordered does not fit my {product}. There was no return label in the box.",
        answers=("Here is your label; any post office in {city} takes the parcel.",),
        replies=("Sent today.",),
        note="Label issued. The product page does not say which models the {part} fits.",
        attachment="return-label.txt",
    ),
    Problem(
        queue="app",
        subject="App does not find my {product}",
        description="The app searches for ever and never finds the bicycle. Bluetooth is on, and my old phone found it "
        "at once.",
        answers=("Please remove the pairing on the old phone first; the display remembers only one.",),
        replies=("That was it!", "The old phone is gone. What now?"),
        note="Pairing can be reset from the display: hold both keys for ten seconds.",
        attachment="app-log.txt",
    ),
    Problem(
        queue="app",
        subject="Cannot log in after changing my email address",
        description="I changed the address of my account yesterday. Since then neither the old nor the new one works, "
        "and the reset mail does not arrive.",
        answers=("The confirmation was stuck in our mail queue. I have confirmed the new address by hand.",),
        replies=("I am in again.",),
        note="Mail queue was full again. Ticket for the platform team exists.",
    ),
    Problem(
        queue="app",
        subject="Tracker shows my {product} in the wrong place",
        description="According to the app my bicycle is in {city}, but it stands in front of me. If it is stolen one "
        "day, that would not help much.",
        answers=("The tracker had lost its signal. Please ride a few minutes outside and look again.",),
        replies=("Correct again.", "It has not moved on the map for {days} hours."),
        note="Tracker firmware 2.1 loses its fix. Update is being rolled out.",
    ),
    Problem(
        queue="app",
        subject="Please delete my account",
        description="I have sold my {product} and would like my account and all my rides to be deleted.",
        answers=("Done. Invoices stay with us for the time the law asks for; everything else is gone.",),
        replies=("Thank you.",),
        note="Deletion request, identity confirmed by mail.",
    ),
)
