import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createMessageParser } from '../../src/events/message-parser.js'

describe('the parser of the event stream', () => {
  it('returns the same messages for every division into chunks', () => {
    const event = fc.record({ id: fc.stringMatching(/^[a-z0-9_]{1,20}$/), data: fc.json() })
    fc.assert(
      fc.property(
        fc.array(event, { maxLength: 10 }),
        fc.array(fc.nat(), { maxLength: 10 }),
        (events, cuts) => {
          const text = events
            .map(({ id, data }) => `id: ${id}\nevent: x\ndata: ${data}\n\n: beat\n\n`)
            .join('')
          const read = createMessageParser()
          const places = [0, ...cuts.map((cut) => cut % (text.length + 1)), text.length].toSorted(
            (a, b) => a - b,
          )
          const seen = places.flatMap((place, index) => read(text.slice(place, places[index + 1] ?? place)))
          expect(seen).toEqual(events.map((message) => ({ ...message, event: 'x' })))
        },
      ),
    )
  })

  it('joins lines of data and ignores comments', () => {
    expect(createMessageParser()('retry: 1000\n: connected\n\ndata: a\ndata: b\n\n')).toEqual([
      { id: undefined, event: undefined, data: 'a\nb' },
    ])
  })
})
