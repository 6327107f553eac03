import type { Socket } from 'node:net'

const LF = 10

/** The beginning of an incomplete line, up to a size. The parser rejects longer lines before they are needed. */
export class PartialLine {
  private readonly maxBytes: number
  private chunks: Buffer[] = []
  private size = 0

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes
  }

  append(chunk: Buffer): void {
    const begin = chunk.lastIndexOf(LF) + 1
    if (begin > 0) this.clear()
    if (begin === chunk.length) return
    this.size += chunk.length - begin
    if (this.size <= this.maxBytes) this.chunks.push(chunk.subarray(begin))
    else this.chunks = []
  }

  clear(): void {
    if (this.size === 0) return
    this.chunks = []
    this.size = 0
  }

  /** The bytes of the line that contains `index` of the next chunk, and all following bytes of the chunk. */
  joinAt(chunk: Buffer, index: number): Buffer {
    const end = index === 0 ? -1 : chunk.lastIndexOf(LF, index - 1)
    return end < 0 ? Buffer.concat([...this.chunks, chunk]) : chunk.subarray(end + 1)
  }
}

/** Reads until a line that begins with `start` is complete, or until there are more than `maxBytes`. */
export function readLine(socket: Socket, start: Buffer, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let size = 0
    const onData = (chunk: Buffer): void => {
      chunks.push(chunk)
      size += chunk.length
      if (size <= maxBytes && !chunk.includes(LF)) return
      socket.off('data', onData).pause()
      resolve(Buffer.concat(chunks))
    }
    socket.on('data', onData)
    onData(start)
  })
}

/** Matches a request line whose URL has non-ASCII bytes after its host. */
const LINE = /^([A-Z-]+ https?:\/\/[\x21-\x7e]+?)([/?][\x21-\x7e\x80-\xff]*)( HTTP\/1\.[01]\r?)$/i

const percentEncode = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`

/**
 * Percent-encodes the non-ASCII bytes in the path and query of a request, which clients send although the parser of Node
 * rejects them. `packet` begins with the request line. Returns undefined where the request line has another problem. ASCII
 * bytes do not change, so the line ends at the same byte.
 */
export function encodeUrl(packet: Buffer): Buffer | undefined {
  const end = packet.indexOf(LF)
  const match = end < 0 ? null : LINE.exec(packet.toString('latin1', 0, end))
  if (match === null) return undefined
  const [, before = '', path = '', after = ''] = match
  const line = before + path.replace(/[\x80-\xff]/g, percentEncode) + after
  return Buffer.concat([Buffer.from(line, 'latin1'), packet.subarray(end)])
}
