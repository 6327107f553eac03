import { afterEach, beforeEach, expect, it } from 'vitest'
import { retry } from '../../src/retry-function/index.js'

let stackTraceLimit: number

beforeEach(() => {
  ;({ stackTraceLimit } = Error)
  Error.stackTraceLimit = 10 // the default of Node.js
})

afterEach(() => {
  Error.stackTraceLimit = stackTraceLimit
})

it('keeps the callers in the stack of an error: few of the 10 frames are its own', async () => {
  const failing = () => {
    throw new Error('fixture')
  }
  const first = async (): Promise<unknown> =>
    await retry(failing, { maxAttempts: 2, backoffType: 'immediate' })
  const second = async () => await first()
  const third = async () => await second()
  const fourth = async () => await third()

  const { stack } = (await fourth().catch((error: Error) => error)) as Error
  expect(stack).toMatch(/failing[^]* first [^]* second [^]* third [^]* fourth /)
})
