import type { Socket } from 'node:net'

const LF = 10

/** The beginning of a line whose end was not read yet, up to a size. A parser refuses a longer one before it is asked for. */
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

  /** The bytes of the line that goes on at `index` of the next chunk, and of all that follows it there. */
  joinAt(chunk: Buffer, index: number): Buffer {
    const end = index === 0 ? -1 : chunk.lastIndexOf(LF, index - 1)
    return end < 0 ? Buffer.concat([...this.chunks, chunk]) : chunk.subarray(end + 1)
  }
}

/** Reads until a line that begins with `start` is complete. Returns more than `maxBytes` where it is not complete by then. */
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

/** A request line whose URL has bytes outside ASCII after its host, up to the end of the line. */
const LINE = /^([A-Z-]+ https?:\/\/[\x21-\x7e]+?)([/?][\x21-\x7e\x80-\xff]*)( HTTP\/1\.[01]\r?)$/i

const percentEncode = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`

/**
 * The bytes of a request, from the beginning of its first line, with the bytes outside ASCII in its path and query
 * percent-encoded; undefined where that is not what is wrong with it. Node's parser takes no such bytes, and clients send them.
 * No byte of ASCII changes, so that the line ends where it ended.
 */
export function encodeUrl(packet: Buffer): Buffer | undefined {
  const end = packet.indexOf(LF)
  const match = end < 0 ? null : LINE.exec(packet.toString('latin1', 0, end))
  if (match === null) return undefined
  const [, before = '', path = '', after = ''] = match
  const line = before + path.replace(/[\x80-\xff]/g, percentEncode) + after
  return Buffer.concat([Buffer.from(line, 'latin1'), packet.subarray(end)])
}
