import { crc32, deflateSync, inflateSync } from "node:zlib"

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const PALETTE_SIZE = 256
const PALETTE_TYPE = 3
/** Bytes a pixel, by the colour type of what a browser writes. */
const CHANNELS = new Map([
  [2, 3],
  [6, 4]
])

/** The same picture with at most 256 colours, as small as zlib makes it. Rare colours become the nearest of the frequent ones. */
export const smaller = (png: Buffer): Buffer => {
  const header = chunk(png, "IHDR")[0] ?? Buffer.alloc(0)
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)]
  const channels = CHANNELS.get(header[9] ?? 0)
  if (channels === undefined || header[8] !== 8 || header[12] !== 0) throw new Error("a PNG of another kind than browsers write")
  const pixels = unfiltered(inflateSync(Buffer.concat(chunk(png, "IDAT"))), width * channels, channels)
  const colours = Array.from({ length: width * height }, (_, at) => pixels.readUIntBE(at * channels, 3))
  const palette = frequent(colours)
  const places = new Map(palette.map((colour, place) => [colour, place]))
  const placeOf = (colour: number): number => {
    const place = places.get(colour) ?? nearest(palette, colour)
    places.set(colour, place)
    return place
  }
  const rows = Buffer.alloc(height * (width + 1))
  for (const [at, colour] of colours.entries()) rows[Math.floor(at / width) * (width + 1) + 1 + (at % width)] = placeOf(colour)
  const own = Buffer.from(header)
  own[9] = PALETTE_TYPE
  const table = Buffer.concat(palette.map((colour) => Buffer.from([colour >> 16, (colour >> 8) & 255, colour & 255])))
  const parts = [written("IHDR", own), written("PLTE", table), written("IDAT", deflateSync(rows, { level: 9 }))]
  return Buffer.concat([SIGNATURE, ...parts, written("IEND", Buffer.alloc(0))])
}

const chunk = (png: Buffer, wanted: string): ReadonlyArray<Buffer> => {
  const found: Array<Buffer> = []
  for (let at = SIGNATURE.length; at < png.length; at += png.readUInt32BE(at) + 12) {
    const length = png.readUInt32BE(at)
    if (png.toString("latin1", at + 4, at + 8) === wanted) found.push(png.subarray(at + 8, at + 8 + length))
  }
  return found
}

/** Undoes the five filters of PNG: each byte is written as its difference from those to the left and above. */
const unfiltered = (data: Buffer, stride: number, channels: number): Buffer => {
  const rows = data.length / (stride + 1)
  const result = Buffer.alloc(rows * stride)
  for (let row = 0; row < rows; row++) {
    const filter = data[row * (stride + 1)]
    for (let at = 0; at < stride; at++) {
      const left = at < channels ? 0 : (result[row * stride + at - channels] ?? 0)
      const up = row === 0 ? 0 : (result[(row - 1) * stride + at] ?? 0)
      const corner = row === 0 || at < channels ? 0 : (result[(row - 1) * stride + at - channels] ?? 0)
      const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter ?? 0] ?? 0
      result[row * stride + at] = ((data[row * (stride + 1) + 1 + at] ?? 0) + guess) & 255
    }
  }
  return result
}

const paeth = (left: number, up: number, corner: number): number => {
  const [a, b, c] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)]
  return a <= b && a <= c ? left : b <= c ? up : corner
}

const frequent = (colours: ReadonlyArray<number>): ReadonlyArray<number> => {
  const counts = new Map<number, number>()
  for (const colour of colours) counts.set(colour, (counts.get(colour) ?? 0) + 1)
  const sorted = [...counts].sort(([, one], [, other]) => other - one)
  return sorted.slice(0, PALETTE_SIZE).map(([colour]) => colour)
}

const nearest = (palette: ReadonlyArray<number>, colour: number): number => {
  const away = (other: number) =>
    [16, 8, 0].reduce((sum, shift) => sum + (((colour >> shift) & 255) - ((other >> shift) & 255)) ** 2, 0)
  return palette.reduce((best, other, place) => (away(other) < away(palette[best] ?? 0) ? place : best), 0)
}

const written = (type: string, data: Buffer): Buffer => {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}
