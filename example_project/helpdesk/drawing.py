"""Bar charts as PNG files, with nothing but the standard library."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

Color = tuple[int, int, int]

COLORS: tuple[Color, ...] = ((37, 99, 175), (63, 155, 94))
PAPER: Color = (255, 255, 255)
LINE: Color = (222, 226, 230)
BAR, GAP, HEIGHT, MARGIN = 14, 12, 220, 16
GRID = 4  # lines above the base line


def draw_bars(series: Sequence[Sequence[int]]) -> bytes:
    """One group of bars for each position, side by side; the highest bar fills the height."""
    groups = list(zip(*series, strict=True))
    step = len(series) * BAR + GAP
    width = 2 * MARGIN + len(groups) * step
    rows = [[PAPER] * width for _ in range(HEIGHT + 2 * MARGIN)]
    for number in range(GRID + 1):
        rows[MARGIN + HEIGHT * number // GRID][MARGIN:-MARGIN] = [LINE] * (width - 2 * MARGIN)
    highest = max((value for group in groups for value in group), default=0) or 1
    for position, group in enumerate(groups):
        for place, value in enumerate(group):
            left = MARGIN + GAP // 2 + position * step + place * BAR
            for row in rows[MARGIN + HEIGHT - HEIGHT * value // highest : MARGIN + HEIGHT]:
                row[left : left + BAR - 2] = [COLORS[place % len(COLORS)]] * (BAR - 2)
    return _encode(rows)


def _encode(rows: Sequence[Sequence[Color]]) -> bytes:
    """Eight bits a channel, no alpha, no filter (PNG, section 11)."""
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 2, 0, 0, 0)
    pixels = b"".join(b"\0" + bytes(channel for pixel in row for channel in pixel) for row in rows)
    chunks = (_chunk(b"IHDR", header), _chunk(b"IDAT", zlib.compress(pixels)), _chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
