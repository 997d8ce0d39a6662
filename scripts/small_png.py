"""Pictures of pages as small as they can be: a page has few colours, so a palette of 256 is enough for it.

The browser that took the picture also counts its colours; here is only what a PNG file is made of.
"""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

from playwright.sync_api import Page

COUNT_COLOURS = """async (picture) => {
  const image = new Image();
  image.src = "data:image/png;base64," + picture;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height);
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const pixels = context.getImageData(0, 0, image.width, image.height).data;
  const colourAt = (at) => pixels[at] << 16 | pixels[at + 1] << 8 | pixels[at + 2];
  const parts = (colour) => [colour >> 16, colour >> 8 & 255, colour & 255];
  const tint = (colour) => Math.max(...parts(colour)) - Math.min(...parts(colour));
  const weight = ([colour, count]) => count * (1 + tint(colour) / 8);
  const counts = new Map();
  for (let at = 0; at < pixels.length; at += 4) {
    const colour = colourAt(at);
    counts.set(colour, (counts.get(colour) || 0) + 1);
  }
  const common = [...counts].sort((one, other) => weight(other) - weight(one)).slice(0, 256);
  const palette = common.map(([colour]) => parts(colour));
  const nearest = new Map();
  for (const colour of counts.keys()) {
    const [red, green, blue] = parts(colour);
    let best = 0, least = Infinity;
    palette.forEach(([r, g, b], index) => {
      const distance = (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2;
      if (distance < least) { least = distance; best = index; }
    });
    nearest.set(colour, best);
  }
  const indexes = new Uint8Array(image.width * image.height);
  for (let at = 0; at < indexes.length; at += 1) indexes[at] = nearest.get(colourAt(at * 4));
  let text = "";
  for (let at = 0; at < indexes.length; at += 32768) {
    text += String.fromCharCode(...indexes.subarray(at, at + 32768));
  }
  return { width: image.width, height: image.height, palette: palette.flat(), indexes: btoa(text) };
}"""
SIGNATURE = b"\x89PNG\r\n\x1a\n"
PALETTE_BITS = (8, 3, 0, 0, 0)
"""Eight bits a pixel, each a place in the palette; deflated, filtered line by line, not interlaced."""


def small_png(picture: bytes, page: Page) -> bytes:
    """The same picture with at most 256 colours; counted in a page that may be any."""
    found: dict[str, Any] = page.evaluate(COUNT_COLOURS, base64.b64encode(picture).decode())
    width, height = found["width"], found["height"]
    indexes = base64.b64decode(found["indexes"])
    lines = b"".join(b"\0" + indexes[at : at + width] for at in range(0, width * height, width))
    return SIGNATURE + b"".join(
        (
            _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, *PALETTE_BITS)),
            _chunk(b"PLTE", bytes(found["palette"])),
            _chunk(b"IDAT", zlib.compress(lines, 9)),
            _chunk(b"IEND", b""),
        )
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
