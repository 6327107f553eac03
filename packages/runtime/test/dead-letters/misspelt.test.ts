import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Holdfast } from '../../src/holdfast/holdfast.js'

describe('a misspelled option', () => {
  let hf: Holdfast
  beforeAll(async () => {
    hf = await Holdfast.open()
  })
  afterAll(() => hf.close())

  const letters = () => hf.deadLetters
  const pipeline = () => hf.pipeline([{ operation: 'send', run: (item: never) => item }])
  const CASES: Record<string, [(given: never) => Promise<unknown>, given: object, meant: string]> = {
    'deadLetters.list': [(given) => letters().list(given), { opreation: 'send' }, 'operation'],
    'deadLetters.purge': [(given) => letters().purge(given), { staus: 'failed' }, 'status'],
    'deadLetters.replayBatch': [
      (given) => letters().replayBatch(given),
      { retry_failed: true },
      'retryFailed',
    ],
    'deadLetters.work': [(given) => letters().work(given), { concurency: 2 }, 'concurrency'],
    'pipeline.run': [(given) => pipeline().run([], given), { itemID: () => '1' }, 'itemId'],
    'sessions.list': [(given) => hf.sessions.list(given), { policy_id: 'send' }, 'policyId'],
    'events.list': [(given) => hf.events.list(given), { type: ['alert'] }, 'types'],
    'errors.list': [(given) => hf.errors.list(given), { severty: 'ERROR' }, 'severity'],
    'audit.list': [(given) => hf.audit.list(given), { taget: 'send' }, 'target'],
    'breakers.events': [(given) => hf.breakers.events(given), { limt: 1 }, 'limit'],
  }

  it.each(Object.entries(CASES))('is rejected by %s with a suggestion', async (_, [ask, given, meant]) => {
    await expect(ask(given as never)).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      message: expect.stringContaining(`got an unknown option (did you mean ${meant}?)`) as string,
    })
  })

  it('is rejected with the list of options if none is similar', async () => {
    await expect(letters().purge({ colour: 'red' } as never)).rejects.toThrow(
      'colour: expected one of operation, itemId, status, from, to, search, ids, by, reason, got an unknown option',
    )
  })

  it('is reported together with other problems', async () => {
    const given = { opreation: 'send', limit: 0 } as never
    await expect(letters().list(given)).rejects.toThrow(
      /limit: expected .*, got 0; opreation: expected .*, got an unknown option/,
    )
  })

  it.each([
    [() => hf.errors.list({ severity: 'critical' }), 'severity: expected DEBUG, INFO,'],
    [
      () => hf.errors.list({ category: 'HARD' }),
      'category: expected TRANSIENT, PERMANENT, CRITICAL, got "HARD"',
    ],
    [() => hf.audit.list({ action: 'policy.set' }), 'action: expected policy.put, policy.delete'],
  ])('with an unknown value is rejected with the list of values (%#)', async (ask, said) => {
    await expect(ask()).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      message: expect.stringContaining(said) as string,
    })
  })

  it('is rejected by deadLetters.enqueue together with other problems', async () => {
    const input = { operation: 'send', itemId: '', payload: 1, error: new Error('down'), idempotencykey: 'k' }
    await expect(letters().enqueue(input)).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      message: expect.stringMatching(
        /itemId: expected a string that is not empty, got "".*idempotencykey: expected .*, got an unknown option \(did you mean idempotencyKey\?\)/,
      ) as string,
    })
  })

  it('does not lose the dead letter of a failed call', async () => {
    const call = { operation: 'send', itemId: '1', payload: 1, error: new Error('down'), reasn: 'x' }
    expect(await letters().capture(call)).toMatchObject({ itemId: '1', status: 'pending' })
  })
})
