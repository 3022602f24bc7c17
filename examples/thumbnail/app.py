"""A thumbnail of a picture: decodes an image of 24-bit pixels, scales it down by averaging, and
packs it as a PNG."""

import base64
import json
import random
import struct
import zlib


def picture(width, height, seed):
    """Rows of bytes, three to a pixel, as a decoder would give them."""
    dice = random.Random(seed)
    return [dice.randbytes(width * 3) for _ in range(height)]


def scaled(rows, width, factor):
    """Each pixel is the mean of factor x factor pixels."""
    for top in range(0, len(rows) - factor + 1, factor):
        small = bytearray()
        for left in range(0, width - factor + 1, factor):
            for color in range(3):
                pixels = (
                    rows[top + y][3 * left + color : 3 * (left + factor) + color : 3]
                    for y in range(factor)
                )
                small.append(sum(map(sum, pixels)) // factor**2)
        yield bytes(small)


def png(rows, width):
    """The bytes of a PNG file."""

    def chunk(kind, data):
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", width, len(rows), 8, 2, 0, 0, 0)
    content = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", content)
        + chunk(b"IEND", b"")
    )


def handler(event, context):
    for message in event["Records"]:
        order = {"width": 640, "height": 480, "factor": 8} | json.loads(message["body"])
        rows = list(
            scaled(
                picture(order["width"], order["height"], seed=1), order["width"], order["factor"]
            )
        )
        thumbnail = base64.b64encode(png(rows, len(rows[0]) // 3))
        print(f"thumbnail of {len(rows[0]) // 3} x {len(rows)} pixels, {len(thumbnail)} bytes")
