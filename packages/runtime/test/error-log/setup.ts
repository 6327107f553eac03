import { type FakeClock, fakeClock, seededRandom } from 'holdfast/testing'
import type { EventInput, RuntimeContext } from '../../../config/src/runtime-context.js'
import { makeRedactor } from '../../../records/src/redact/redact.js'
import type { RetryEvent } from '../../../records/src/session.js'
import { memoryStore } from '../../../store/src/memory/index.js'

/** A kit on a clock of its own, with what was said and told to look at. */
export interface TestKit extends RuntimeContext {
  readonly clock: FakeClock
  readonly events: RetryEvent[]
  readonly complaints: string[]
  debugging: boolean
}

export function testKit(): TestKit {
  const clock = fakeClock({ wall: Date.UTC(2026, 0, 29, 12) })
  const events: RetryEvent[] = []
  const complaints: string[] = []
  const redact = makeRedactor()
  const silent = () => {}
  const kit: TestKit = {
    clock,
    random: seededRandom(1),
    logger: { debug: silent, info: silent, warn: silent, error: silent },
    store: memoryStore(),
    events,
    complaints,
    debugging: false,
    isDebug: () => kit.debugging,
    redact,
    emit(input: EventInput) {
      const event: RetryEvent = {
        schema: '1.2',
        eventId: `evt_${events.length}`,
        timestamp: new Date(clock.wall()),
        ...input,
        correlationId: input.correlationId ?? 'corr_1',
      }
      events.push(event)
      return event
    },
    audit: async () => {},
    warn: (line) => void complaints.push(line),
  }
  return kit
}
