import { HoldfastError } from 'holdfast'
import { describe, expect, it } from 'vitest'
import {
  DEAD_LETTER_DEFAULTS,
  type DeadLetterOptions,
} from '../../../config/src/resolve/dead-letter-options.js'
import type { CallOptions, Run } from '../../src/api-types.js'
import { DeadLetters } from '../../src/dead-letters/dead-letters.js'
import { PipelineFactory } from '../../src/pipeline/pipeline.js'
import type { StepContext } from '../../src/pipeline/step.js'
import { freshStore, kitOf, runnerOf, STORES } from '../dead-letters/setup.js'

interface Around {
  guards?: Parameters<typeof runnerOf>[1]
  options?: Partial<DeadLetterOptions>
  store?: Awaited<ReturnType<typeof freshStore>>
}

/** Pipelines as the runtime has them: a call with a payload is kept when it ends in failure. */
async function setup({ guards, options, store }: Around = {}) {
  const parts = kitOf(store ?? (await freshStore()))
  const runOperation = runnerOf(parts.clock, guards)
  const queue = new DeadLetters(parts.kit, {
    options: () => ({ ...DEAD_LETTER_DEFAULTS, ...options }),
    runOperation,
    policyIdOf: () => 'default',
  })
  const calls: (CallOptions<unknown> & { operation: string })[] = []
  const run: Run = async (operation, fn, call = {}) => {
    calls.push({ operation, ...call })
    const rejection = call.payload === undefined ? undefined : queue.rejectionIfFull()
    if (rejection !== undefined) throw rejection
    try {
      return await runOperation(operation, fn, call)
    } catch (error) {
      if (call.payload !== undefined && !call.signal?.aborted)
        await queue.capture({ operation, error, ...call, payload: call.payload })
      throw error
    }
  }
  return { ...parts, queue, calls, pipelines: new PipelineFactory(parts.kit, run, queue) }
}

describe.each(STORES)('a pipeline with dead letters in %s', (kind) => {
  it('runs every item through every step, and a failed item does not stop others', async () => {
    const { pipelines, queue } = await setup({ store: await freshStore(kind) })
    const written: string[] = []
    const pipeline = pipelines.createPipeline([
      { operation: 'fetch', run: (id: string) => ({ id, body: `mail ${id}` }) },
      {
        operation: 'extract',
        run: ({ id, body }: { id: string; body: string }) => {
          if (id === 'b') throw new Error('malformed')
          return { id, words: body.split(' ') }
        },
      },
      {
        operation: 'write',
        run: ({ id }: { id: string }) => {
          written.push(id)
          return `page of ${id}`
        },
      },
    ])
    const result = await pipeline.run(['a', 'b', 'c'])
    expect(result).toMatchObject({
      succeeded: 2,
      failed: 1,
      skipped: 0,
      items: [
        { itemId: 'a', status: 'succeeded', value: 'page of a' },
        { itemId: 'b', status: 'failed', step: 'extract', error: new Error('malformed') },
        { itemId: 'c', status: 'succeeded', value: 'page of c' },
      ],
    })
    expect(written).toEqual(['a', 'c'])
    const { items } = await queue.list()
    expect(items).toMatchObject([
      {
        dlqId: result.items[1]?.deadLetterId,
        operationType: 'extract',
        itemId: 'b',
        originalPayload: { step: 'extract', item: 'b', value: { id: 'b', body: 'mail b' } },
      },
    ])
  })

  it('continues with the failed step when the item is replayed, also in another process', async () => {
    const store = await freshStore(kind)
    const did: string[] = []
    const broken = new Set(['extract', 'write'])
    const step = (operation: string) => ({
      operation,
      run: (value: string, { idempotencyKey, item }: StepContext) => {
        did.push(`${operation} ${idempotencyKey}`)
        if (broken.has(operation)) throw new Error(`${operation} is down`)
        return `${value} > ${operation} of ${item}`
      },
    })
    const steps = ['fetch', 'extract', 'write', 'report'].map(step)
    const first = await setup({ store })
    await first.pipelines.createPipeline(steps).run(['m1'], { idempotencyKey: (item) => `key-${item}` })
    expect(did).toEqual(['fetch key-m1:fetch', 'extract key-m1:extract'])

    const { queue, pipelines } = await setup({ store })
    pipelines.createPipeline(steps)
    broken.delete('extract')
    did.length = 0
    // The step is done, and the next one is down: its failure is a dead letter of its own.
    expect(await queue.replayBatch({ operation: 'extract' })).toEqual({ succeeded: 1, failed: 0, skipped: 0 })
    expect(did).toEqual(['extract key-m1:extract', 'write key-m1:write'])
    const waiting = (await queue.list({ status: 'pending' })).items
    expect(waiting).toMatchObject([
      { operationType: 'write', itemId: 'm1', originalPayload: { step: 'write', item: 'm1' } },
    ])
    broken.clear()
    did.length = 0
    expect(await queue.replayBatch()).toEqual({ succeeded: 1, failed: 0, skipped: 0 })
    expect(did).toEqual(['write key-m1:write', 'report key-m1:report'])
    expect((await queue.stats()).byStatus).toMatchObject({ pending: 0, completed: 2 })
  })
})

describe('a pipeline', () => {
  it('keeps the dead letter of an item whose replay fails', async () => {
    const { pipelines, queue } = await setup()
    const pipeline = pipelines.createPipeline([
      {
        operation: 'write',
        run: () => {
          throw new Error('down')
        },
      },
    ])
    const { items } = await pipeline.run([{ id: 7 }])
    expect(items[0]?.itemId).toBe('7')
    expect(await queue.replay(items[0]?.deadLetterId as string)).toMatchObject({
      status: 'failed',
      itemId: '7',
    })
  })

  it('keeps the entry if the dead letter of a later step cannot be stored', async () => {
    const { pipelines, queue, lines } = await setup({ options: { operations: ['fetch'] } })
    let down = true
    const pipeline = pipelines.createPipeline([
      {
        operation: 'fetch',
        run: () => {
          if (down) throw new Error('down')
          return 'fetched'
        },
      },
      {
        operation: 'write',
        run: () => {
          throw new Error('write is down')
        },
      },
    ])
    const { items } = await pipeline.run(['a'])
    down = false
    const replayed = await queue.replay(items[0]?.deadLetterId as string)
    expect(replayed.status).toBe('failed')
    expect(replayed.errorDetails.history?.[0]?.errorMessage).toBe('write is down')
    expect(lines.join()).toContain(
      'a failed write about "a" could not be stored as a dead letter, INVALID_OPTIONS',
    )
  })

  it('uses the fallback of a step, and stores no dead letter then', async () => {
    const { pipelines, queue } = await setup()
    const pipeline = pipelines.createPipeline([
      {
        operation: 'secrets',
        run: () => {
          throw new Error('the vault is down')
        },
        fallback: (error, { item, itemId, value }) =>
          `${itemId}: ${(error as Error).message}, ${item} ${value}`,
      },
    ])
    const { succeeded, items } = await pipeline.run(['a'])
    expect(succeeded).toBe(1)
    expect(items[0]?.value).toBe('a: the vault is down, a a')
    expect((await queue.stats()).total).toBe(0)
  })

  it('stores an item whose fallback failed, and uses the fallback in its replay', async () => {
    const { pipelines, queue } = await setup()
    const original = new Error('the vault is down')
    let file: string | undefined
    const pipeline = pipelines.createPipeline([
      {
        operation: 'secrets',
        run: () => {
          throw original
        },
        fallback: () => {
          if (file === undefined) throw new Error('no .env')
          return file
        },
      },
      { operation: 'use', run: (value: string) => `used ${value}` },
    ])
    const { items } = await pipeline.run(['a'])
    expect(items[0]?.error).toMatchObject({ message: 'no .env', cause: original })
    const id = items[0]?.deadLetterId as string
    expect((await queue.replay(id)).status).toBe('failed')
    file = 'from .env'
    expect((await queue.replay(id)).status).toBe('completed')
  })

  it('runs each step with its operation, service, policy and pool', async () => {
    const { pipelines, calls } = await setup()
    const step = { operation: 'write', service: 'notion', policy: 'p', pool: 'pages', run: () => 1 }
    await pipelines.createPipeline([step]).run(['a', 'b'])
    expect(calls).toMatchObject([
      { operation: 'write', service: 'notion', policy: 'p', pool: 'pages', itemId: 'a' },
      { operation: 'write', itemId: 'b' },
    ])
    expect(calls[0]?.correlationId).not.toBe(calls[1]?.correlationId)
  })

  it('gives a step its attempt number, a signal and a stable idempotency key', async () => {
    const { pipelines } = await setup({
      guards: { write: { retry: { maxAttempts: 2, backoffType: 'immediate' } } },
    })
    const seen: [number, string, boolean][] = []
    await pipelines
      .createPipeline([
        {
          operation: 'write',
          run: (_: string, { attempt, idempotencyKey, signal, note }: StepContext) => {
            note({ seen: true })
            seen.push([attempt, idempotencyKey, signal.aborted])
            if (attempt === 1) throw new Error('not yet')
          },
        },
      ])
      .run(['a'])
    expect(seen).toEqual([
      [1, seen[0]?.[1], false],
      [2, seen[0]?.[1], false],
    ])
  })

  it('runs at most concurrency items at a time, from a list or a stream', async () => {
    const { pipelines, clock } = await setup()
    let [running, most] = [0, 0]
    const pipeline = pipelines.createPipeline([
      {
        operation: 'write',
        run: async (n: number) => {
          most = Math.max(most, ++running)
          await new Promise<void>((resolve) => clock.setTimer(resolve, n % 2 === 0 ? 10 : 25))
          running--
          return n * n
        },
      },
    ])
    async function* stream() {
      for (let n = 0; n < 20; n++) yield n
    }
    for (const source of [Array.from({ length: 20 }, (_, n) => n), stream()]) {
      const run = pipeline.run(source, { concurrency: 3 })
      await clock.advance(5000)
      const { items, succeeded } = await run
      expect(succeeded).toBe(20)
      expect(items.map(({ value }) => value)).toEqual(Array.from({ length: 20 }, (_, n) => n * n))
    }
    expect(most).toBe(3)
  })

  it('ends early when its signal is aborted, and stores no dead letter for aborted items', async () => {
    const { pipelines, queue } = await setup()
    const stop = new AbortController()
    let returned = false
    function* source() {
      try {
        for (let n = 0; n < 100; n++) yield n
      } finally {
        returned = true
      }
    }
    const pipeline = pipelines.createPipeline([
      {
        operation: 'write',
        run: (n: number, { signal }: StepContext) => {
          if (n < 2) return n
          stop.abort(new Error('enough'))
          return new Promise((_, reject) =>
            signal.addEventListener('abort', () => reject(signal.reason as Error)),
          )
        },
      },
    ])
    const result = await pipeline.run(source(), { concurrency: 1, signal: stop.signal })
    expect(result).toMatchObject({ succeeded: 2, failed: 0, skipped: 1 })
    expect(returned).toBe(true)
    expect((await queue.stats()).total).toBe(0)
  })

  it('does not use a fallback for aborted items', async () => {
    const { pipelines, queue } = await setup()
    const stop = new AbortController()
    let fell = false
    const pipeline = pipelines.createPipeline([
      {
        operation: 'write',
        run: () => {
          stop.abort(new Error('enough'))
          return new Promise(() => {})
        },
        fallback: () => (fell = true),
      },
    ])
    expect(await pipeline.run(['a'], { signal: stop.signal })).toMatchObject({ succeeded: 0, skipped: 1 })
    expect(fell).toBe(false)
    expect((await queue.stats()).total).toBe(0)
  })

  it('does not read from its source again after an error of the source', async () => {
    const { pipelines } = await setup()
    let asked = 0
    const source = {
      [Symbol.iterator]: () => ({
        next: () => {
          if (++asked === 2) throw new Error('the mailbox is gone')
          return { done: asked > 50, value: asked }
        },
      }),
    }
    const pipeline = pipelines.createPipeline([{ operation: 'write', run: () => 1 }])
    await expect(pipeline.run(source, { concurrency: 2 })).rejects.toThrow('the mailbox is gone')
    expect(asked).toBeLessThan(5)
  })

  it('rejects with the error of its source after the running items have ended', async () => {
    const { pipelines, clock } = await setup()
    let ended = 0
    const pipeline = pipelines.createPipeline([
      {
        operation: 'write',
        run: async () => {
          await new Promise<void>((resolve) => clock.setTimer(resolve, 10))
          ended++
        },
      },
    ])
    async function* source() {
      yield 1
      throw new Error('the mailbox is gone')
    }
    const run = pipeline.run(source()).catch((error: unknown) => error)
    await clock.advance(100)
    expect(await run).toEqual(new Error('the mailbox is gone'))
    expect(ended).toBe(1)
  })

  it('reports its progress, and continues when the listener throws', async () => {
    const { pipelines, lines } = await setup()
    const pipeline = pipelines.createPipeline([{ operation: 'write', run: () => 1 }])
    const heard: number[] = []
    const result = await pipeline.run(['a', 'b'], {
      concurrency: 1,
      onProgress: ({ succeeded }) => {
        heard.push(succeeded)
        throw new Error('oops')
      },
    })
    expect(heard).toEqual([1, 2])
    expect(result.succeeded).toBe(2)
    expect(lines[0]).toContain('onProgress')
  })

  it('fails only the item without an id', async () => {
    const { pipelines } = await setup()
    const pipeline = pipelines.createPipeline([{ operation: 'write', run: () => 1 }])
    const { items } = await pipeline.run([{ mail: 'a' }, {}, { mail: 'b' }], {
      itemId: (item) => (item as { mail: string }).mail,
      idempotencyKey: (item) => (item as { mail: string }).mail.toUpperCase(),
    })
    expect(items.map(({ status }) => status)).toEqual(['succeeded', 'failed', 'succeeded'])
    const named = await pipeline.run([1, '', null, { id: '' }, { id: 'x' }])
    expect(named.items.map(({ itemId }) => itemId)).toEqual(['1', 'item-1', 'item-2', 'item-3', 'x'])
  })

  it('reports an item that failed and could not be stored', async () => {
    const { pipelines, lines } = await setup()
    const pipeline = pipelines.createPipeline([
      { operation: 'fetch', run: () => new Map() },
      {
        operation: 'write',
        run: () => {
          throw new Error('down')
        },
      },
    ])
    const { items } = await pipeline.run(['a'])
    expect(items[0]).toMatchObject({ status: 'failed', step: 'write' })
    expect(items[0]).toHaveProperty('deadLetterId', undefined)
    expect(lines[0]).toContain('payload.value: expected JSON, got a value of type Map')
  })

  it('does not start a step with a fallback if a full queue rejects calls', async () => {
    const { pipelines, queue } = await setup({ options: { maxEntries: 1, whenFull: 'refuse' } })
    await queue.enqueue({ operation: 'write', itemId: 'a', payload: 1 })
    let ran = false
    const pipeline = pipelines.createPipeline([
      { operation: 'write', run: () => (ran = true), fallback: () => 1 },
    ])
    const { items } = await pipeline.run(['b'])
    expect(items[0]?.error).toMatchObject({ code: 'DEAD_LETTERS_FULL' })
    expect(ran).toBe(false)
  })

  it('can share an operation with another pipeline, and between its steps', async () => {
    const { pipelines, queue } = await setup()
    let down = true
    const did: string[] = []
    const step = (name: string) => ({
      operation: 'notion',
      name,
      run: () => {
        if (down) throw new Error('down')
        did.push(name)
      },
    })
    await pipelines.createPipeline([step('page'), step('link')]).run(['a'])
    await pipelines.createPipeline([step('table')]).run(['b'])
    await queue.enqueue({ operation: 'notion', itemId: 'c', payload: { step: 'gone', item: 1 } })
    await queue.enqueue({ operation: 'notion', itemId: 'd', payload: 'not ours' })
    down = false
    expect(await queue.replayBatch({ concurrency: 1 })).toEqual({ succeeded: 2, failed: 2, skipped: 0 })
    expect(did).toEqual(['page', 'link', 'table'])
    const failed = (await queue.list({ status: 'failed' })).items
    expect(failed.map(({ errorDetails }) => errorDetails.history?.[0]?.errorMessage)).toEqual([
      expect.stringContaining('no pipeline of this process has a step "gone" under notion'),
      expect.stringContaining('no pipeline of this process created it under notion'),
    ])
  })

  it('leaves an item unchanged when its replay is cancelled, with or without a fallback', async () => {
    const { pipelines, queue } = await setup()
    let cancelled = false
    const pipeline = pipelines.createPipeline([
      {
        operation: 'write',
        run: () => {
          throw cancelled ? new HoldfastError('CANCELLED', 'closing') : new Error('down')
        },
        fallback: (error) => {
          throw error
        },
      },
    ])
    const { items } = await pipeline.run(['a'])
    cancelled = true
    await expect(queue.replay(items[0]?.deadLetterId as string)).rejects.toMatchObject({ code: 'CANCELLED' })
    expect((await queue.stats()).byStatus.pending).toBe(1)
  })

  const run = () => 1

  it.each([
    ['no list', 7, 'at least one step'],
    ['no steps', [], 'at least one step'],
    ['what is no step', [null], 'steps[0]: expected an object'],
    ['a step without an operation', [{ run }], 'steps[0].operation: expected'],
    ['a step that does nothing', [{ operation: 'a' }], 'steps[0].run: expected a function'],
    ['a fallback that is none', [{ operation: 'a', run, fallback: 'b' }], 'steps[0].fallback: expected'],
    ['a name that is none', [{ operation: 'a', name: 7, run }], 'steps[0].name: expected'],
    [
      'the same step twice',
      [
        { operation: 'a', run },
        { operation: 'b', run },
        { operation: 'a', run },
      ],
      'steps[2].name: expected a unique name, got "a" like steps[0]',
    ],
  ])('cannot be created with %s', async (_, steps, said) => {
    const { pipelines } = await setup()
    expect(() => pipelines.createPipeline(steps as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTIONS', message: expect.stringContaining(said) }),
    )
  })

  it('reports the problems of its run options', async () => {
    const { pipelines } = await setup()
    const pipeline = pipelines.createPipeline([{ operation: 'a', run: () => 1 }])
    await expect(pipeline.run(7 as never)).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      message: 'a pipeline cannot run: items: expected a list, or anything to iterate over, got 7',
    })
    await expect(pipeline.run(undefined as never)).rejects.toThrow(
      'items: expected a list, or anything to iterate over, got undefined',
    )
    await expect(pipeline.run([], { concurrency: 0, itemId: 'id' } as never)).rejects.toThrow(
      /concurrency: expected .*, got 0.*itemId: expected .*, got "id"/,
    )
    expect(await pipeline.run([])).toEqual({ succeeded: 0, failed: 0, skipped: 0, items: [] })
  })
})
