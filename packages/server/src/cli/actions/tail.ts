import { type ApiBackend, connectApi, parseResponse } from '../backends/api.js'
import type { CommandContext } from '../context/context.js'
import { CommandFailure, EXIT_CODES } from '../context/exit.js'
import { createPainter, formatInline, formatSeconds } from '../output/text.js'
import { runUntilInterrupted, waitOrAbort } from './wait.js'

export interface TailOptions {
  type?: readonly string[]
  operation?: readonly string[]
}

interface WireEvent {
  event_id: string
  event_type: string
  timestamp: string
  operation?: string
  attempt?: number
  max_attempts?: number | string
  delay?: number
  error?: { type: string; message: string }
  context?: Record<string, unknown>
}

const COLOUR_BY_ENDING = {
  failure: 'red',
  opened: 'red',
  rejected: 'red',
  success: 'green',
  closed: 'green',
} as const

/** An event in a line. */
function formatEvent(event: WireEvent, colours: boolean): string {
  const { event_type: type, operation, attempt, max_attempts, delay, error, context } = event
  const ending = (type.split('_').at(-1) ?? '') as keyof typeof COLOUR_BY_ENDING
  const kind = formatInline(type)
  const words = [
    formatInline(event.timestamp).slice(11, 23),
    COLOUR_BY_ENDING[ending] === undefined ? kind : createPainter(colours)(COLOUR_BY_ENDING[ending], kind),
    formatInline(operation ?? context?.id ?? ''),
    attempt === undefined
      ? ''
      : `attempt ${attempt}${max_attempts === undefined ? '' : ` of ${formatInline(max_attempts)}`}`,
    delay === undefined ? '' : `in ${formatSeconds(delay)}`,
    error === undefined ? '' : formatInline(`${error.type}: ${error.message}`),
    context?.stopped === undefined ? '' : `(${formatInline(context.stopped)})`,
  ]
  return words.filter((word) => word !== '').join('  ')
}

/** Reads server-sent events until the stream ends. */
export async function* parseEventStream(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<{ id: string; data: string }> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true })
    const frames = text.split('\n\n')
    text = frames.pop() ?? ''
    for (const frame of frames) {
      const fields = new Map(
        frame.split('\n').map((line) => {
          const [name = '', ...rest] = line.split(': ')
          return [name, rest.join(': ')] as const
        }),
      )
      const data = fields.get('data')
      if (data !== undefined) yield { id: fields.get('id') ?? '', data }
    }
  }
}

/** `tailEvents`: events as they happen. A connection that is lost is made again, and goes on after the last event. */
export async function tailEvents(context: CommandContext, options: TailOptions): Promise<void> {
  const { io, globalOptions } = context
  const api = await connectApi(context, { liveReason: 'events come from a running process' })
  let last: string | undefined
  let begun = false
  const read = async (signal: AbortSignal): Promise<void> => {
    const answer = await openStream(api, options, last, signal)
    begun = true
    for await (const { id, data } of parseEventStream(answer)) {
      last = id
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
        // A refusal is final; so is a server that was never there.
        if (signal.aborted) return
        if (!begun || (error instanceof CommandFailure && error.exit !== EXIT_CODES.unreachable)) throw error
      }
      if (signal.aborted) return
      io.err('the connection was lost; trying again\n')
      await waitOrAbort(io, 1000, signal)
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
  const answer = await api.send('GET', '/events', { query, signal })
  if (!answer.ok || answer.body === null) await parseResponse(answer)
  return answer.body as ReadableStream<Uint8Array>
}
