import { expect, it } from 'vitest'
import { guard, sessionOf } from '../../src/index.js'

const immediate = { maxAttempts: 3, backoffType: 'immediate' } as const

it('sessionOf returns the attempts for the error of a fallback that throws', async () => {
  const one = guard({
    retry: immediate,
    fallback() {
      throw new Error('and this too')
    },
  })
  const fails = () => {
    throw new Error('it')
  }
  const error = await one.run(fails).catch((thrown) => thrown)
  expect(error.message).toBe('and this too')
  expect(sessionOf(error)?.attempts).toHaveLength(3)
  expect(sessionOf(error.cause)?.attempts).toHaveLength(3)
  const outer = guard({ retry: false })
  const seen = await outer.run(() => one.run(fails)).catch((thrown) => thrown)
  expect(sessionOf(seen)?.inner?.[0]?.attempts).toHaveLength(3)
})
