import { expect, onTestFinished, test } from 'vitest'
import { type Fixture, failCall, open } from '../fixture.js'

/** Asks for a list whose items the runtime has already read, and counts the turns of the event loop until the answer. */
async function askAndCountTurns({ ask }: Fixture, path: string) {
  let turns = 0
  let next = setImmediate(function count() {
    turns++
    next = setImmediate(count)
  })
  onTestFinished(() => clearImmediate(next))
  const { status, headers, body } = await ask('GET', path)
  expect(status).toBe(200)
  expect(headers.get('content-type')).toBe('application/json')
  return { turns, body }
}

test.each([
  ['/api/v1/dead-letters', 'deadLetters', 'items'],
  ['/api/v1/sessions', 'sessions', 'items'],
  ['/api/v1/errors', 'errors', 'items'],
  ['/api/v1/audit', 'audit', 'items'],
  ['/api/v1/circuit-breakers/metrics', 'breakers', 'events'],
] as const)(
  'a long list of %s is serialized in several turns of the event loop',
  async (path, part, name) => {
    const server = await open()
    const { hf, ask } = server
    for (let i = 0; i < 2; i++) await failCall(hf, 'guarded', { payload: { to: 'ann' } })
    const [entry] = (await hf.deadLetters.list()).items
    await hf.deadLetters.complete(entry?.dlqId as string, { by: 'ann' })
    const method = part === 'breakers' ? 'events' : 'list'
    const list = hf[part] as unknown as Record<string, () => Promise<{ items: unknown[] }>>
    const items = (await list[method]?.())?.items ?? []
    const short = (await ask('GET', path)).body
    expect(short[name].length).toBeGreaterThan(0)
    Object.assign(hf[part], {
      [method]: async () => ({ items: Array.from({ length: 1000 }, () => items[0]), cursor: 'next' }),
    })
    const { turns, body } = await askAndCountTurns(server, path)
    expect(turns).toBeGreaterThanOrEqual(19)
    expect(body).toEqual({ [name]: Array.from({ length: 1000 }, () => short[name][0]), cursor: 'next' })
  },
)
