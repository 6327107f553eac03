import type { OpenFile } from './file-system.js'

/** A source of lines: a file, or the content of a compressed file. */
export interface LineSource {
  readonly size: number
  read(offset: number, length: number): Promise<Buffer>
  close(): Promise<void>
}

/** A line, with its offset and that of the next line. */
export interface TextLine {
  start: number
  next: number
  text: string
}

/** How much is read at a time. */
const CHUNK_BYTES = 64 * 1024
const NEWLINE = 0x0a

export const bufferSource = (content: Buffer): LineSource => ({
  size: content.length,
  read: async (offset, length) => content.subarray(offset, offset + length),
  close: async () => {},
})

export const fileSource = (file: OpenFile, size: number): LineSource => ({
  size,
  async read(offset, length) {
    const buffer = Buffer.allocUnsafe(length)
    const { bytesRead } = await file.read(buffer, 0, length, offset)
    return buffer.subarray(0, bytesRead)
  },
  close: () => file.close(),
})

/** Reads complete lines from an offset on, which must be the start of a line. A line without a newline is not complete. */
export async function* readForward(source: LineSource, from: number): AsyncGenerator<TextLine> {
  let start = from
  let rest: Buffer = Buffer.alloc(0)
  for (let read = from; read < source.size; ) {
    const chunk = await source.read(read, Math.min(CHUNK_BYTES, source.size - read))
    if (chunk.length === 0) return
    read += chunk.length
    const block = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let begin = 0
    for (let end = block.indexOf(NEWLINE); end >= 0; end = block.indexOf(NEWLINE, begin)) {
      if (end > begin)
        yield { start: start + begin, next: start + end + 1, text: block.toString('utf8', begin, end) }
      begin = end + 1
    }
    start += begin
    rest = block.subarray(begin)
  }
}

/** Reads the complete lines that begin before an offset, last line first. */
export async function* readBackward(source: LineSource, before: number): AsyncGenerator<TextLine> {
  let read = Math.min(before, source.size)
  /** The end of a line whose beginning has not been read yet. Undefined until the first newline was found. */
  let rest: Buffer | undefined
  while (read > 0) {
    const length = Math.min(CHUNK_BYTES, read)
    read -= length
    const chunk = await source.read(read, length)
    let block: Buffer = rest === undefined ? chunk : Buffer.concat([chunk, rest])
    let newline = block.lastIndexOf(NEWLINE)
    if (rest === undefined) {
      // The text after the last newline is not a complete line.
      if (newline < 0) continue
      block = block.subarray(0, newline)
      newline = block.lastIndexOf(NEWLINE)
    }
    while (newline >= 0) {
      if (newline + 1 < block.length) yield toTextLine(block.subarray(newline + 1), read + newline + 1)
      block = block.subarray(0, newline)
      newline = block.lastIndexOf(NEWLINE)
    }
    rest = block
  }
  if (rest !== undefined && rest.length > 0) yield toTextLine(rest, 0)
}

const toTextLine = (bytes: Buffer, start: number): TextLine => ({
  start,
  next: start + bytes.length + 1,
  text: bytes.toString('utf8'),
})
