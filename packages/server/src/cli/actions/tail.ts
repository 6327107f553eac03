import { type EventSourceMessage, EventSourceParserStream } from 'eventsource-parser/stream'
import { waitOrAbort } from '../../wait-or-abort.js'
import type { WireEvent } from '../../wire-types.js'
import { type ApiBackend, connectApi, parseResponse } from '../backends/api.js'
import type { CommandContext } from '../context/context.js'
import { CommandFailure, EXIT_CODES } from '../context/exit.js'
import { createPainter, formatInline, formatSeconds } from '../output/text.js'
import { runUntilInterrupted } from './interrupt.js'

export interface TailOptions {
  type?: readonly string[]
  operation?: readonly string[]
}

const RECONNECT_DELAY_MS = 1000

/** The colours of events by the last word of their type. */
const COLOUR_BY_ENDING = {
  failure: 'red',
  opened: 'red',
  rejected: 'red',
  success: 'green',
  closed: 'green',
} as const

/** An event in one line. */
function formatEvent(event: WireEvent, hasColours: boolean): string {
  const { event_type: type, operation, attempt, max_attempts, delay, error, context } = event
  const ending = (type.split('_').at(-1) ?? '') as keyof typeof COLOUR_BY_ENDING
  const kind = formatInline(type)
  const words = [
    formatInline(event.timestamp).slice(11, 23),
    COLOUR_BY_ENDING[ending] === undefined ? kind : createPainter(hasColours)(COLOUR_BY_ENDING[ending], kind),
    formatInline(operation ?? context?.id ?? ''),
    attempt == null
      ? ''
      : `attempt ${attempt}${max_attempts == null ? '' : ` of ${formatInline(max_attempts)}`}`,
    delay == null ? '' : `in ${formatSeconds(delay)}`,
    error == null ? '' : formatInline(`${error.type}: ${error.message}`),
    context?.stopped === undefined ? '' : `(${formatInline(context.stopped)})`,
  ]
  return words.filter((word) => word !== '').join('  ')
}

/** `tail`: prints live events. After a lost connection it reconnects and continues after the last event. */
export async function tailEvents(context: CommandContext, options: TailOptions): Promise<void> {
  const { io, globalOptions } = context
  const api = await connectApi(context, { liveReason: 'tail shows the events of a running process' })
  let last: string | undefined
  let hasConnected = false
  const read = async (signal: AbortSignal): Promise<void> => {
    const stream = await openStream(api, options, last, signal)
    hasConnected = true
    const messages = stream
      .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
      .pipeThrough(new EventSourceParserStream())
    for await (const { id, data } of messages as unknown as AsyncIterable<EventSourceMessage>) {
      last = id ?? last
      io.out(
        globalOptions.json ? `${data}\n` : `${formatEvent(JSON.parse(data) as WireEvent, io.hasColours)}\n`,
      )
    }
  }
  await runUntilInterrupted(io, async (signal) => {
    for (;;) {
      try {
        await read(signal)
      } catch (error) {
        // An error response is final, and so is a server that could not be reached at first.
        if (signal.aborted) return
        if (!hasConnected || (error instanceof CommandFailure && error.exit !== EXIT_CODES.unreachable))
          throw error
      }
      if (signal.aborted) return
      io.err('connection lost; reconnecting\n')
      await waitOrAbort(io.clock, RECONNECT_DELAY_MS, signal)
      if (signal.aborted) return
    }
  })
}

async function openStream(
  api: ApiBackend,
  { type, operation }: TailOptions,
  last: string | undefined,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  const query = { type, operation, last_event_id: last } as Record<string, string | undefined>
  const response = await api.send('GET', '/events', { query, signal })
  if (!response.ok || response.body === null) await parseResponse(response)
  return response.body as ReadableStream<Uint8Array>
}
