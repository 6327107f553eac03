import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { checkConfig } from '../../../config/src/check/check.js'
import { Holdfast, makeRedactor, migrateRecords, parseConfig } from '../../src/index.js'
import { failing, folder, refused, start } from './setup.js'

const MAPPED = {
  policies: {
    once: { maxAttempts: 1, enableCircuitBreaker: true, circuitBreakerThreshold: 2 },
    open: { maxAttempts: 1 },
  },
  subsystemMappings: { web: { load: { default: 'once' }, save: { default: 'open' } } },
}

describe('a policy in the options of a call', () => {
  const policyId = async (hf: Holdfast) => (await hf.sessions.list({ limit: 1 })).items[0]?.policyId

  it('is named after its id, else after its operation', async () => {
    const { hf } = await start(MAPPED)
    const policy = { maxAttempts: 2, backoffType: 'immediate' }
    await failing(hf, 'web.load', refused, { policy })
    expect(await policyId(hf)).toBe('web.load')
    await failing(hf, 'anything', refused, { policy })
    expect(await policyId(hf)).toBe('anything')
    await failing(hf, 'anything', refused, { policy: { ...policy, id: 'mine' } })
    expect(await policyId(hf)).toBe('mine')
    const { byPolicy } = await hf.metrics.window({ from: new Date(0), to: new Date(Date.UTC(2027, 0)) })
    expect(Object.keys(byPolicy).sort()).toEqual(['anything', 'mine', 'web.load'])
  })

  it('uses the breaker of the configured policy, or its own if that has none', async () => {
    const { hf } = await start(MAPPED)
    await failing(hf, 'web.load', refused, { policy: { circuitBreakerThreshold: 9 } })
    await failing(hf, 'web.load', refused)
    expect(await hf.breakers.list({ state: 'open' })).toMatchObject([
      { id: 'policy:once', failureThreshold: 2 },
    ])
    const policy = { enableCircuitBreaker: true, circuitBreakerThreshold: 1 }
    await failing(hf, 'web.save', refused, { policy })
    expect(await failing(hf, 'web.save', refused, { policy })).toMatchObject({ code: 'CIRCUIT_OPEN' })
    expect(await failing(hf, 'web.save', refused)).toMatchObject({ code: 'ECONNREFUSED' })
  })

  it('is rejected with the expected and actual value of each invalid field', async () => {
    const { hf } = await start(MAPPED)
    const policy = { maxAttempts: 'many', baseDelay: -1, jitterTyp: 'full', bulkhead: { limit: 0 } }
    expect(await failing(hf, 'web.load', refused, { policy })).toMatchObject({
      code: 'INVALID_OPTIONS',
      details: [
        'policy.jitterTyp: unknown key of a policy (did you mean jitterType?)',
        'policy.maxAttempts: expected a whole number from 1, or Infinity, got "many"',
        expect.stringMatching(/^policy\.baseDelay: expected a duration of 0 or more.*, got -1$/),
        'policy.bulkhead.limit: expected a whole number from 1, got 0',
      ],
    })
    const error = await failing(hf, 'web.load', refused, { policy: { baseDelay: 60_000, maxDelay: 1000 } })
    expect(error).toMatchObject({
      code: 'INVALID_OPTIONS',
      details: [expect.stringContaining('maxDelay: expected at least baseDelay (60000), got 1000')],
    })
  })
})

describe('a misspelled name', () => {
  const message = (text: string) => ({ code: 'INVALID_OPTIONS', message: expect.stringContaining(text) })

  it('in the options of a call is rejected with a suggestion', async () => {
    const { hf } = await start(MAPPED)
    const run = hf.run.bind(hf) as unknown as (...args: unknown[]) => Promise<unknown>
    const fn = () => 1
    await expect(run(5, fn)).rejects.toMatchObject(
      message('operation: expected a name such as browser.save, got 5'),
    )
    await expect(run(undefined, fn)).rejects.toMatchObject(
      message('operation: expected a name such as browser.save, got undefined'),
    )
    await expect(run('', fn)).rejects.toMatchObject(
      message('operation: expected a name such as browser.save, got ""'),
    )
    await expect(run('a', 5)).rejects.toMatchObject(message('fn: expected a function, got 5'))
    await expect(run('a', fn, 5)).rejects.toMatchObject(message('expected an object, got 5'))
    await expect(run('a', fn, { contxt: {} })).rejects.toMatchObject(
      message('got an unknown option (did you mean context?)'),
    )
    await expect(run('a', fn, { contxt: {} })).rejects.toMatchObject(message('did you mean context?'))
    await expect(run('a', fn, { service: 5, itemId: {} })).rejects.toMatchObject({
      details: ['itemId: expected a string, got an object', 'service: expected a string, got 5'],
    })
    expect(await run('a', fn, { itemId: '', context: undefined, payload: null, signal: undefined })).toBe(1)
  })

  it('in the options of a guard is rejected when the guard is created', async () => {
    const { hf } = await start(MAPPED)
    const guard = hf.guard.bind(hf) as unknown as (...args: unknown[]) => unknown
    expect(() => guard(5)).toThrow('operation: expected a name such as browser.save, got 5')
    expect(() => guard('a', { polcy: 'once' })).toThrow('did you mean policy?')
    expect(await hf.guard('web.load', { name: 'x' }).run(() => 1)).toBe(1)
  })

  it('in a call of a guard is rejected, and valid options are used', async () => {
    const { hf } = await start({ policies: { twice: { maxAttempts: 2, backoffType: 'immediate' } } })
    const guard = hf.guard('twice', { context: { a: 1 }, correlationId: 'c' })
    const run = guard.run.bind(guard) as unknown as (...args: unknown[]) => Promise<unknown>
    await expect(run(() => 1, null)).rejects.toMatchObject(message('expected an object, got null'))
    await expect(run(() => 1, { contxt: {} })).rejects.toMatchObject(message('did you mean context?'))
    const fail = () => Promise.reject(refused())
    await run(fail, { context: { b: 2 }, correlationId: undefined, itemId: '7', payload: 5 }).catch(() => {})
    expect((await hf.sessions.list()).items).toMatchObject([{ context: { b: 2 }, correlationId: 'c' }])
    expect((await hf.deadLetters.list()).items).toMatchObject([{ itemId: '7', originalPayload: 5 }])
    for (const wrong of [undefined, 5, {}]) {
      expect(() => guard.on(wrong as never)).toThrow('expected a function')
      expect(() => guard.wrap(wrong as never)).toThrow('expected a function')
    }
    expect(await guard.run(() => 'heard')).toBe('heard')
  })

  it('in the actor of a change is rejected before anything changes', async () => {
    const { hf } = await start({ ...MAPPED, circuitBreakers: { api: {} } })
    for (const actor of [null, 5, 'ann', { by: 5 }, { reason: {} }] as never[])
      for (const act of [
        () => hf.policies.put({ id: 'once', maxAttempts: 9 }, actor),
        () => hf.policies.delete('open', actor),
        () => hf.config.reload(actor),
        () => hf.config.rollback(0, actor),
        () => hf.config.clear(actor),
        () => hf.breakers.trip('service:api', actor),
        () => hf.breakers.reset('service:api', actor),
        () => hf.sessions.cancel('x', actor),
      ])
        await expect(act()).rejects.toMatchObject(message('the change cannot be made'))
    expect((await hf.policies.get('once')).maxAttempts).toBe(1)
    expect(await hf.config.history()).toEqual([])
    expect((await hf.breakers.get('service:api'))?.state).toBe('closed')
  })

  it.each([undefined, null, 5, {}, [], Symbol('x')])('is not found as an id: %s', async (id) => {
    const { hf } = await start(MAPPED)
    expect(await hf.breakers.get(id as never)).toBeUndefined()
    await expect(hf.breakers.reset(id as never)).rejects.toMatchObject(
      message('not found; expected policy:ID'),
    )
    expect(await hf.config.validate(id as never)).toMatchObject({ valid: false })
  })

  it('in a filter is rejected with a suggestion', async () => {
    const { hf } = await start(MAPPED)
    const asked: [Promise<unknown>, string][] = [
      [hf.breakers.list({ sate: 'open' } as never), 'did you mean state?'],
      [
        hf.breakers.list({ state: 'opened' as never }),
        'state: expected closed, open or half_open, got "opened"',
      ],
      [hf.breakers.ids({ pol: 'x' } as never), 'did you mean pool?'],
      [hf.metrics.timeseries({ hour: 3 } as never), 'did you mean hours?'],
      [hf.metrics.timeseries({ step: 'week' as never }), 'got "week"'],
      [hf.metrics.byMember({ step: 'day' } as never), 'got an unknown option'],
      [
        hf.metrics.window({ from: new Date(0), to: new Date(1), step: 'day' } as never),
        'got an unknown option',
      ],
    ]
    for (const [answer, text] of asked) await expect(answer).rejects.toMatchObject(message(text))
    await expect(Holdfast.open({ confg: {} } as never)).rejects.toMatchObject(message('did you mean config?'))
    await expect(Holdfast.open(5 as never)).rejects.toMatchObject(message('got 5'))
  })

  it('in the arguments of a function is rejected', async () => {
    expect(() => makeRedactor({ key: ['pin'] } as never)).toThrow('did you mean keys?')
    expect(() => makeRedactor({ keys: 'pin' } as never)).toThrow(
      'keys: expected an array of strings, got "pin"',
    )
    expect(() => makeRedactor({ patterns: [5] } as never)).toThrow(
      'patterns: expected an array of strings, got',
    )
    expect(() => parseConfig('version: "1.1.0"', { fromat: 'json' } as never)).toThrow('did you mean format?')
    expect(() => parseConfig('version: "1.1.0"', { format: 'toml' } as never)).toThrow(
      'format: expected yaml or json, got "toml"',
    )
    await expect(migrateRecords('', { writ: () => {} } as never)).rejects.toMatchObject(
      message('did you mean write?'),
    )
  })

  it('in an environment variable causes a warning on stderr', async () => {
    const said = vi.spyOn(console, 'error').mockImplementation(() => {})
    const policies = { fetch: {} }
    const env = { HOLDFAST_STOR: 'memory', HOLDFAST_POLICIES_FETCH_MAX_ATTEMPS: '2', HOLDFAST_COLOUR: 'red' }
    await start({ policies }, { env })
    const lines = said.mock.calls.map(([line]) => String(line))
    said.mockRestore()
    expect(lines).toEqual([
      'holdfast: HOLDFAST_POLICIES_FETCH_MAX_ATTEMPS: unknown variable (did you mean HOLDFAST_POLICIES_FETCH_MAX_ATTEMPTS?)',
      'holdfast: HOLDFAST_STOR: unknown variable (did you mean HOLDFAST_STORE?)',
    ])
  })
})

describe('encryption keys in the config file', () => {
  const [next, last] = ['a'.repeat(64), 'b'.repeat(64)]
  const text = (keys: string) =>
    `version: "1.1.0"\nstore: sqlite:kept.db\ndead_letters:\n  encryption_key: ${keys}\n`

  it('can be a list, so that keys can be rotated', async () => {
    const dir = await folder({ 'holdfast.yaml': text(`"${last}"`) })
    const file = join(dir, 'holdfast.yaml')
    const before = await Holdfast.open({ config: file, env: {} })
    const { dlqId } = await before.deadLetters.enqueue({
      operation: 'a',
      itemId: '1',
      payload: 5,
      error: 'x',
    })
    await before.close()
    const { writeFile } = await import('node:fs/promises')
    await writeFile(file, text('["${NEXT}", "${LAST}"]'))
    const after = await Holdfast.open({ config: file, env: { NEXT: next, LAST: last } })
    expect((await after.deadLetters.get(dlqId))?.originalPayload).toBe(5)
    await after.close()
  })

  it('that are not valid are reported without repeating them', () => {
    for (const keys of ['[]', `["${next}", "nonsense"]`, '[5]', '{ a: 1 }']) {
      const { problems } = checkConfig(text(keys), { env: {} })
      expect(problems).toMatchObject([{ path: 'dead_letters.encryption_key' }])
      expect(JSON.stringify(problems)).not.toMatch(/nonsense|aaaa/)
    }
  })
})
