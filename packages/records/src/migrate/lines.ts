import { HoldfastError } from 'holdfast'

/**
 * Reads the lines of a text or of an async iterable, whose items are lines (as of `readline`) or chunks that end anywhere (as of a
 * file stream). The first item with a line break shows that the items are chunks.
 */
export async function* readLines(input: string | AsyncIterable<string>): AsyncGenerator<string> {
  if (typeof input === 'string') {
    yield* input.split('\n')
    return
  }
  if (typeof (input as Partial<AsyncIterable<string>> | null)?.[Symbol.asyncIterator] !== 'function')
    throw new HoldfastError(
      'INVALID_OPTIONS',
      `migrateRecords: expected JSON lines as a string or as an async iterable of strings, got ${input === null ? 'null' : `a value of type ${typeof input}`}`,
    )
  let isChunked = false
  let rest = ''
  for await (const item of input) {
    isChunked ||= String(item).includes('\n')
    if (!isChunked) {
      yield String(item)
      continue
    }
    const lines = (rest + String(item)).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  yield rest
}
