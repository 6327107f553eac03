/** Frames of a stream of server-sent events, read as they come. */
export class Sse {
  private readonly reader: ReadableStreamDefaultReader<Uint8Array>
  private readonly decoder = new TextDecoder()
  private rest = ''
  private readonly frames: Record<string, string>[] = []
  done = false

  constructor(body: ReadableStream<Uint8Array>) {
    this.reader = body.getReader()
  }

  /** Reads until there are so many events, or the stream ends. Comments are left out. */
  async take(count: number): Promise<Record<string, string>[]> {
    while (this.frames.length < count && !this.done) await this.read()
    return this.frames.splice(0, count)
  }

  /** Reads to the end. */
  async rest_(): Promise<Record<string, string>[]> {
    return this.take(Number.POSITIVE_INFINITY)
  }

  /** Reads one piece as it came. */
  async piece(): Promise<string> {
    const { done, value } = await this.reader.read()
    this.done = done
    return this.decoder.decode(value)
  }

  cancel(): Promise<void> {
    return this.reader.cancel()
  }

  private async read(): Promise<void> {
    const parts = (this.rest + (await this.piece())).split('\n\n')
    this.rest = parts.pop() ?? ''
    for (const part of parts) {
      const fields = part
        .split('\n')
        .filter((line) => !line.startsWith(':') && !line.startsWith('retry:'))
        .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)])
      if (fields.length > 0) this.frames.push(Object.fromEntries(fields) as Record<string, string>)
    }
  }
}
