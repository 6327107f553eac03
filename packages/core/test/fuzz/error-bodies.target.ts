import fc from 'fast-check'
import { hashOf, splitByHash } from '../../../../test/fuzz/random.js'
import type { FuzzTarget } from '../../../../test/fuzz/target.js'
import { addFailureCode, MAX_PEEK_BYTES, peekText } from '../../src/http/failure-code.js'
import { fakeClock } from '../../src/testing/index.js'

const PARTS = [
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '"',
  '\\"',
  '"error":',
  '"code":',
  '"type":',
  '"status":',
  '"rate_limit_exceeded"',
  '"40001"',
  '"RESOURCE_EXHAUSTED"',
  'null',
  '1e999',
  '"__proto__":{"code":"polluted"}',
  '{"error":{"code":"insufficient_quota","type":"x_y_z"}}',
  '\ufeff',
  ' '.repeat(2000),
  'x'.repeat(3000),
]
const body = fc.oneof(
  fc.array(fc.constantFrom(...PARTS), { maxLength: 12 }).map((parts) => parts.join('')),
  fc.jsonValue().map((value) => `{"error":${JSON.stringify(value)}}`),
  fc
    .dictionary(fc.constantFrom('error', 'code', 'type', 'status', '__proto__'), fc.jsonValue())
    .map((value) => JSON.stringify(value)),
)

/** Bodies of failed responses: at most an error code of a limited form is taken from them, and the response stays readable. */
export const target: FuzzTarget = {
  name: 'error-bodies',
  cases: body.map((text) => Buffer.from(text)),
  dictionary: PARTS,
  open: async () => {
    const clock = fakeClock()
    const counts = { cases: 0, codes: 0 }
    return {
      async check(bytes) {
        const pieces = splitByHash(bytes)
        const breaksOff = hashOf(bytes) % 4 === 0
        const stream = new ReadableStream<Uint8Array>({
          start(controller) {
            for (const piece of pieces) controller.enqueue(piece)
            if (breaksOff) controller.error(new Error('the connection was lost'))
            else controller.close()
          },
        })
        const response = new Response(stream, { status: 500 })
        const error = new Error('failed')
        let text: string | undefined
        await addFailureCode(
          error,
          undefined,
          async (signal) => (text = await peekText(response, clock, signal)),
        )
        if ((text ?? '').length > MAX_PEEK_BYTES) throw new Error('too much of the body was read')
        const { cause } = error as { cause?: unknown }
        counts.cases++
        if (cause !== undefined) {
          counts.codes++
          if (!/^\s*{/.test(text ?? '')) throw new Error('a body that is not an object has a code')
          for (const [name, value] of Object.entries(cause as object)) {
            if (name !== 'code' && name !== 'name') throw new Error(`an unexpected field ${name}`)
            if (typeof value !== 'string' || !/^[a-z_]\w{2,99}$/i.test(value))
              throw new Error(`${name} is not an error code`)
            if (!(text ?? '').includes(value)) throw new Error(`${name} is not in the body`)
          }
        }
        if (!breaksOff && !Buffer.from(await response.arrayBuffer()).equals(bytes))
          throw new Error('the response is not readable from the start')
        if (Object.keys(Object.prototype).length > 0) throw new Error('the prototype of objects has new keys')
      },
      async close() {
        if (counts.cases > 500 && counts.codes < counts.cases / 50)
          throw new Error(`only ${counts.codes} of ${counts.cases} bodies have a code`)
      },
    }
  },
}
