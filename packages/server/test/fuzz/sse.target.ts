import { deepStrictEqual } from 'node:assert/strict'
import type { RetryEvent } from '@holdfast/runtime'
import { type EventSourceMessage, EventSourceParserStream } from 'eventsource-parser/stream'
import fc from 'fast-check'
import { hashOf, splitByHash } from '../../../../test/fuzz/random.js'
import type { FuzzTarget } from '../../../../test/fuzz/target.js'
import { createMessageParser } from '../../../dashboard/src/events/message-parser.js'
import { formatFrame } from '../../src/events/feed.js'

const LINES = ['id', 'event', 'data', 'retry', '', 'x', ':', ' data', '\ufeffdata']
const line = fc
  .tuple(
    fc.constantFrom(...LINES),
    fc.constantFrom(': ', ':', '', ':  '),
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.constantFrom('{"a":1}', '1', '-1', 'x'.repeat(3000)),
    ),
    fc.constantFrom('\n', '\n', '\n', '\r\n', '\r', '\n\n'),
  )
  .map((parts) => parts.join(''))

/** The text of a case is also used in an event, which the server writes and the clients read. */
function eventWith(text: string): RetryEvent {
  return {
    schema: '1.1',
    eventId: 'evt_1769688000000_000001',
    eventType: 'retry_failure',
    timestamp: new Date(1_769_688_000_000),
    correlationId: text,
    sessionId: null,
    policyId: text,
    operation: text,
    component: 'retry_manager',
    context: { [text]: text, nested: { text } },
    error: { type: 'Error', message: text },
  } as unknown as RetryEvent
}

/** The messages that the dashboard reads from a stream that arrives in pieces. */
function readInPieces(pieces: readonly Buffer[]): EventSourceMessage[] {
  const parse = createMessageParser()
  const decoder = new TextDecoder()
  return pieces.flatMap((piece) => parse(decoder.decode(piece, { stream: true })))
}

/** The messages that `holdfast tail` reads. */
async function readAsCommand(pieces: readonly Buffer[]): Promise<EventSourceMessage[]> {
  const messages: EventSourceMessage[] = []
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece)
      controller.close()
    },
  })
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .pipeThrough(new EventSourceParserStream())
  for await (const message of stream as unknown as AsyncIterable<EventSourceMessage>) messages.push(message)
  return messages
}

/** Event streams: the clients read the same messages from any pieces, and exactly the event that the server wrote. */
export const target: FuzzTarget = {
  name: 'sse',
  cases: fc.array(line, { maxLength: 12 }).map((lines) => Buffer.from(lines.join(''))),
  dictionary: [...LINES, '\n\n', '\r\n\r\n', '\r', ': ', 'data: {}', 'id: \0', '\xef\xbb\xbf', 'retry: 1\n'],
  open: async () => ({
    async check(bytes) {
      const pieces = splitByHash(bytes)
      const messages = readInPieces(pieces)
      deepStrictEqual(messages, readInPieces([bytes]), 'the pieces change the messages')
      // Streams are slow, and both clients use the same parser.
      if (hashOf(bytes) % 16 === 0)
        deepStrictEqual(
          await readAsCommand(pieces),
          messages,
          'the dashboard and the command read other messages',
        )
      const text = bytes.toString('utf8')
      const written = Buffer.from(formatFrame(eventWith(text)))
      const read = readInPieces(splitByHash(written))
      deepStrictEqual(read.length, 1, 'an event is not one message')
      const { id, event, data } = read[0] as EventSourceMessage
      deepStrictEqual([id, event], ['evt_1769688000000_000001', 'retry_failure'])
      deepStrictEqual((JSON.parse(data) as { operation: string }).operation, text)
    },
    close: async () => {},
  }),
}
