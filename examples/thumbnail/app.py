"""Makes a thumbnail: decodes an image of 24-bit pixels, scales it down, and packs it as a PNG."""

import base64
import json
import random
import struct
import zlib


def decode(width, height, seed):
    """Rows of bytes, three to a pixel, as a decoder would return them."""
    numbers = random.Random(seed)
    return [numbers.randbytes(width * 3) for _ in range(height)]


def scale_down(rows, width, factor):
    """Rows in which each pixel is the mean of factor x factor pixels."""
    for top in range(0, len(rows) - factor + 1, factor):
        row = bytearray()
        for left in range(0, width - factor + 1, factor):
            for color in range(3):
                pixels = (
                    rows[top + y][3 * left + color : 3 * (left + factor) + color : 3]
                    for y in range(factor)
                )
                row.append(sum(map(sum, pixels)) // factor**2)
        yield bytes(row)


def png(rows, width):
    """The bytes of a PNG file."""
    header = struct.pack(">IIBBBBB", width, len(rows), 8, 2, 0, 0, 0)
    content = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    chunks = [(b"IHDR", header), (b"IDAT", content), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(png_chunk(kind, data) for kind, data in chunks)


def png_chunk(kind, data):
    checksum = struct.pack(">I", zlib.crc32(kind + data))
    return struct.pack(">I", len(data)) + kind + data + checksum


def handler(event, context):
    for message in event["Records"]:
        order = {"width": 640, "height": 480, "factor": 8} | json.loads(message["body"])
        image = decode(order["width"], order["height"], seed=1)
        rows = list(scale_down(image, order["width"], order["factor"]))
        width, height = len(rows[0]) // 3, len(rows)
        thumbnail = base64.b64encode(png(rows, width))
        print(f"thumbnail of {width} x {height} pixels, {len(thumbnail)} bytes")
