// Workers of BullMQ on a real Redis. It takes real time.
import { Holdfast } from '@holdfast/runtime'
import {
  DelayedError,
  type Job,
  type JobsOptions,
  type Processor,
  Queue,
  UnrecoverableError,
  Worker,
  type WorkerOptions,
} from 'bullmq'
import { CircuitBreaker, guard, HoldfastError } from 'holdfast'
import { systemClock } from 'holdfast/internal'
import { fakeClock } from 'holdfast/testing'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { RedisServer } from '../../../scripts/servers/redis.mjs'
import { type FailedJob, guardJobs, type JobGuardOptions } from '../src/bullmq/index.js'
import { missingRedis, startRedis } from './redis.js'

const QUICK = { baseDelay: 10, maxDelay: 20 }

const statusError = (status: number, retryAfter?: string) =>
  Object.assign(new Error(`status ${status}`), {
    status,
    headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter },
  })

/** Keeps stored jobs in memory, by their key. */
function memoryDeadLetters() {
  const entries = new Map<string, FailedJob>()
  let calls = 0
  return {
    entries,
    calls: () => calls,
    enqueue: async (job: FailedJob) => {
      calls++
      entries.set(job.idempotencyKey, job)
    },
  }
}

describe.skipIf(missingRedis !== undefined)('guardJobs', () => {
  let redis: RedisServer
  let queues = 0

  beforeAll(async () => {
    redis = await startRedis()
  })
  afterAll(() => redis.kill())

  const connection = () => ({ host: '127.0.0.1', port: redis.port })

  /** A queue and a worker with the adapter, closed after the test. */
  async function start<T, R>(
    fn: Processor<T, R>,
    options: JobGuardOptions,
    workerOptions: Partial<WorkerOptions> = {},
    queue = new Queue(`queue-${++queues}`, { connection: connection() }),
  ) {
    const jobs = guardJobs({ retry: QUICK, ...options })
    const worker = new Worker(queue.name, jobs.processor(fn), {
      connection: connection(),
      ...jobs.workerOptions,
      ...workerOptions,
    })
    worker.on('error', () => {})
    jobs.attach(worker)
    onTestFinished(async () => {
      await worker.close(true)
      await queue.close()
    })
    await worker.waitUntilReady()
    const add = (data: unknown, jobOptions?: JobsOptions) => queue.add('send', data, jobOptions)
    /** Resolves to the state of a job when it is one of the given states. */
    const reach = async (job: Job, ...states: string[]) => {
      await expect.poll(async () => states.includes(await queue.getJobState(job.id ?? ''))).toBe(true)
      return (await queue.getJob(job.id ?? '')) as Job
    }
    return { queue, worker, jobs, add, reach }
  }

  it('completes a job with the value of its processor', async () => {
    const { add, reach } = await start(async (job: Job) => `to ${job.data.address}`, { guard: guard() })
    const job = await reach(await add({ address: 'ada' }), 'completed')
    expect(job.returnvalue).toBe('to ada')
    expect(job.attemptsMade).toBe(1)
  })

  it('ends a job with a permanent failure at once and stores it', async () => {
    const deadLetters = memoryDeadLetters()
    let calls = 0
    const { add, reach, queue } = await start(
      async () => {
        calls++
        throw statusError(404)
      },
      { deadLetters },
    )
    const job = await reach(await add({ address: 'ada' }, { attempts: 5 }), 'failed')
    expect(calls).toBe(1)
    expect(job.failedReason).toBe('status 404')
    expect(job.stacktrace?.[0]).toContain('statusError')
    expect([...deadLetters.entries.values()]).toMatchObject([
      {
        operation: `${queue.name}.send`,
        itemId: job.id,
        payload: { address: 'ada' },
        retryCount: 0,
        error: { status: 404 },
      },
    ])
  })

  it('lets BullMQ retry transient failures with the delays of its options', async () => {
    const delays: number[] = []
    const statuses = [503, 503, 200]
    const { add, reach, worker } = await start(
      async () => {
        const status = statuses.shift()
        if (status !== 200) throw statusError(status ?? 500)
        return 'sent'
      },
      { retry: { maxAttempts: 5, baseDelay: 40, multiplier: 3, maxDelay: 1000 } },
    )
    worker.on('failed', (job) => void delays.push(job?.delay ?? -1))
    // The job has neither attempts nor a backoff of its own.
    const job = await reach(await add({}), 'completed')
    expect(job.attemptsMade).toBe(3)
    expect(delays).toEqual([40, 120])
  })

  it('keeps the attempts and the backoff of a job', async () => {
    let calls = 0
    const delays: number[] = []
    const { add, reach, worker } = await start(
      async () => {
        calls++
        throw statusError(503)
      },
      { retry: { maxAttempts: 5 } },
    )
    worker.on('failed', (job) => void delays.push(job?.delay ?? -1))
    await reach(await add({}, { attempts: 2, backoff: { type: 'fixed', delay: 15 } }), 'failed')
    expect(calls).toBe(2)
    expect(delays[0]).toBe(15)
  })

  it('waits for Retry-After before the next attempt', async () => {
    const statuses = [503, 200]
    const delays: number[] = []
    const { add, reach, worker } = await start(async () => {
      if (statuses.shift() !== 200) throw statusError(503, '1')
    }, {})
    worker.on('failed', (job) => void delays.push(job?.delay ?? -1))
    await reach(await add({}), 'completed')
    expect(delays).toEqual([1000])
  })

  it('stores a job once when its attempts are used up', async () => {
    const deadLetters = memoryDeadLetters()
    const { add, reach } = await start(
      async () => {
        throw statusError(503)
      },
      { deadLetters },
    )
    const job = await reach(await add({ n: 1 }, { attempts: 3 }), 'failed')
    expect(job.attemptsMade).toBe(3)
    expect([...deadLetters.entries.values()]).toMatchObject([{ payload: { n: 1 }, retryCount: 2 }])
    expect(deadLetters.calls()).toBe(1)
  })

  it('stores a job again when a person retries it and it fails again', async () => {
    const deadLetters = memoryDeadLetters()
    const { add, reach } = await start(
      async () => {
        throw statusError(404)
      },
      { deadLetters },
    )
    const job = await reach(await add({ n: 1 }), 'failed')
    await job.retry()
    await expect.poll(() => deadLetters.entries.size).toBe(2)
  })

  it('limits the queue for the time of Retry-After after a 429, without using an attempt', async () => {
    const starts: number[] = []
    const statuses = [429, 200, 200]
    let onFirstStart = () => {}
    const firstStart = new Promise<void>((resolve) => (onFirstStart = resolve))
    const { add, reach } = await start(async () => {
      starts.push(systemClock.now())
      onFirstStart()
      if (statuses.shift() !== 200) throw statusError(429, '1')
    }, {})
    const first = await add({}, { attempts: 1 })
    await firstStart
    const second = await add({}, { attempts: 1 })
    const jobs = [await reach(first, 'completed'), await reach(second, 'completed')]
    expect(jobs.map(({ attemptsMade }) => attemptsMade)).toEqual([1, 1])
    expect(starts).toHaveLength(3)
    expect((starts[1] as number) - (starts[0] as number)).toBeGreaterThan(900)
  })

  it('ends a job whose Retry-After exceeds maxRetryAfter', async () => {
    const deadLetters = memoryDeadLetters()
    const { add, reach } = await start(
      async () => {
        throw statusError(429, '3600')
      },
      { deadLetters },
    )
    await reach(await add({}, { attempts: 5 }), 'failed')
    expect(deadLetters.entries.size).toBe(1)
  })

  it('delays only the job after a 429 if the worker has no limiter', async () => {
    const { add, reach, queue } = await start(
      async ({ data }: Job) => {
        if (data === 'first') throw statusError(429, '50')
      },
      {},
      { limiter: undefined as never },
    )
    const first = await add('first', { attempts: 1 })
    const delayed = await reach(first, 'delayed')
    expect(delayed.attemptsMade).toBe(0)
    await reach(await add('second'), 'completed')
    expect(await queue.getRateLimitTtl()).toBeLessThanOrEqual(0)
  })

  it('pauses the worker while the breaker is open, uses no attempts, and resumes with one job at a time', async () => {
    const clock = fakeClock()
    const breaker = new CircuitBreaker({ clock, failureThreshold: 2, timeoutDuration: 500 })
    let calls = 0
    let callsUntilOpen = 0
    breaker.on(({ toState }) => {
      if (toState === 'open') callsUntilOpen = calls
    })
    let active = 0
    let maxActiveAsProbe = 0
    const { add, reach, worker } = await start(
      async () => {
        calls++
        active++
        if (breaker.state === 'half_open') maxActiveAsProbe = Math.max(maxActiveAsProbe, active)
        await new Promise((resolve) => setImmediate(resolve))
        active--
        if (callsUntilOpen === 0) throw statusError(503)
      },
      { guard: guard({ retry: false, breaker }), retry: { maxAttempts: 3, baseDelay: 1000 } },
      { concurrency: 3 },
    )
    const pauses: string[] = []
    worker.on('paused', () => void pauses.push('paused'))
    worker.on('resumed', () => void pauses.push('resumed'))
    const added = [await add({ n: 1 }), await add({ n: 2 })]
    await expect.poll(() => callsUntilOpen).toBe(2)
    for (let n = 3; n <= 8; n++) added.push(await add({ n }))
    await clock.advance(500)
    const ended = await Promise.all(added.map((job) => reach(job, 'completed')))
    expect(pauses).toEqual(['paused', 'resumed'])
    expect(maxActiveAsProbe).toBe(1)
    expect(worker.concurrency).toBe(3)
    // The first two failed once; none of the others has used more than its first attempt.
    expect(ended.map(({ attemptsMade }) => attemptsMade)).toEqual([2, 2, 1, 1, 1, 1, 1, 1])
    expect(calls).toBe(10)
  })

  it('pauses the worker again when the probe fails', async () => {
    const clock = fakeClock()
    const breaker = new CircuitBreaker({ clock, failureThreshold: 1, timeoutDuration: 200 })
    const statuses = [503, 503, 200]
    const { add, reach, worker } = await start(
      async () => {
        const status = statuses.shift()
        if (status !== 200) throw statusError(status ?? 500)
      },
      { guard: guard({ retry: false, breaker }) },
    )
    let pauses = 0
    worker.on('paused', () => void pauses++)
    const job = await add({}, { attempts: 5 })
    for (const count of [1, 2]) {
      await expect.poll(() => pauses).toBe(count)
      await clock.advance(60_000)
    }
    await reach(job, 'completed')
    expect(pauses).toBe(2)
    expect(breaker.state).toBe('closed')
  })

  it('pauses a worker that is attached while the breaker is open, and resumes it after a reset', async () => {
    const breaker = new CircuitBreaker({ failureThreshold: 1 })
    breaker.trip({ duration: Infinity })
    const { add, reach, worker } = await start(async () => 'sent', {
      guard: guard({ retry: false, breaker }),
    })
    expect(worker.isPaused()).toBe(true)
    const job = await add({})
    breaker.reset()
    expect((await reach(job, 'completed')).attemptsMade).toBe(1)
  })

  it('does not resume a worker that the application has paused', async () => {
    const breaker = new CircuitBreaker({ failureThreshold: 1 })
    const { worker } = await start(async () => 'sent', { guard: guard({ retry: false, breaker }) })
    await worker.pause()
    breaker.trip()
    breaker.reset()
    expect(worker.isPaused()).toBe(true)
  })

  it('delays a job that the guard rejects without using an attempt', async () => {
    const breaker = new CircuitBreaker({ failureThreshold: 1 })
    const { add, reach, worker } = await start(async () => 'sent', {
      guard: guard({ retry: false, breaker }),
      breaker: false,
    })
    breaker.trip({ duration: '1h' })
    const delayed = await reach(await add({}, { attempts: 1 }), 'delayed')
    expect(delayed.delay).toBeGreaterThan(3_500_000)
    expect(worker.isPaused()).toBe(false)
    breaker.reset()
    await delayed.promote()
    expect((await reach(delayed, 'completed')).attemptsMade).toBe(1)
  })

  it('aborts the signal of the processor at a deadline of the guard', async () => {
    const reasons: unknown[] = []
    const { add, reach } = await start(
      (_job, _token, signal) =>
        new Promise((_, reject) => {
          signal?.addEventListener('abort', () => {
            reasons.push(signal.reason)
            reject(signal.reason as Error)
          })
        }),
      { guard: guard({ retry: false, timeout: { attempt: 50 } }) },
    )
    const job = await reach(await add({}, { attempts: 1 }), 'failed')
    expect(reasons).toMatchObject([{ code: 'ATTEMPT_TIMEOUT' }])
    expect(job.failedReason).toContain('50 ms')
  })

  it('stores a cancelled job when BullMQ has failed it', async () => {
    const deadLetters = memoryDeadLetters()
    let onStarted = () => {}
    const started = new Promise<void>((resolve) => (onStarted = resolve))
    const { add, reach, worker } = await start(
      (_job, _token, signal) =>
        new Promise((_, reject) => {
          signal?.addEventListener('abort', () => reject(new Error('ended')))
          onStarted()
        }),
      { deadLetters },
    )
    const job = await add({ n: 1 }, { attempts: 1 })
    await started
    worker.cancelJob(job.id ?? '', 'enough')
    await reach(job, 'failed')
    await expect.poll(() => deadLetters.entries.size).toBe(1)
  })

  it('passes a job that its processor has moved through the guard without counting a failure', async () => {
    const breaker = new CircuitBreaker({ failureThreshold: 1 })
    let calls = 0
    const { add, reach } = await start(
      async (job: Job, token?: string) => {
        if (++calls > 1) return 'sent'
        await job.moveToDelayed(systemClock.wall() + 50, token)
        throw new DelayedError()
      },
      { guard: guard({ breaker }) },
    )
    const job = await reach(await add({}), 'completed')
    expect(job.attemptsMade).toBe(1)
    expect(breaker.failureCount).toBe(0)
  })

  it('does not retry an UnrecoverableError of the processor in the guard either', async () => {
    let calls = 0
    const { add, reach } = await start(
      async () => {
        calls++
        throw new UnrecoverableError('no such address')
      },
      { guard: guard({ retry: { backoffType: 'immediate' } }) },
    )
    const job = await reach(await add({}, { attempts: 5 }), 'failed')
    expect(calls).toBe(1)
    expect(job.failedReason).toBe('no such address')
  })

  it('completes a job with the value of the fallback', async () => {
    const { add, reach } = await start(
      async () => {
        throw statusError(404)
      },
      { guard: guard({ fallback: () => ({ value: 'skipped' }) }) },
    )
    const job = await reach(await add({}), 'completed')
    expect(job.returnvalue).toEqual({ value: 'skipped' })
  })

  it('runs a job again if its failure could not be stored', async () => {
    let calls = 0
    const stored: FailedJob[] = []
    const { add, reach } = await start(
      async () => {
        calls++
        throw statusError(404)
      },
      {
        deadLetters: {
          enqueue: async (job) => {
            if (calls === 1) throw new HoldfastError('STORE_UNAVAILABLE', 'the disk is full')
            stored.push(job)
          },
        },
      },
    )
    await reach(await add({}, { attempts: 1 }), 'failed')
    expect(calls).toBe(2)
    expect(stored).toHaveLength(1)
  })

  /** Adds a job to a queue, of which a worker crashes while it processes the job. */
  async function crashWithJob(): Promise<{ queue: Queue; job: Job }> {
    const queue = new Queue(`queue-${++queues}`, { connection: connection() })
    onTestFinished(() => queue.close())
    let onStarted = () => {}
    const started = new Promise<void>((resolve) => (onStarted = resolve))
    const neverEnds = () => {
      onStarted()
      return new Promise(() => {})
    }
    // A closed connection and a lock that is not renewed are all that Redis sees of a crash.
    const worker = new Worker(queue.name, neverEnds, {
      connection: connection(),
      lockDuration: 500,
      skipLockRenewal: true,
      skipStalledCheck: true,
    })
    worker.on('error', () => {})
    const job = await queue.add('send', { n: 1 }, { attempts: 2 })
    await started
    await worker.close(true)
    return { queue, job }
  }

  it('runs the job of a crashed worker again and stores it once', async () => {
    const deadLetters = memoryDeadLetters()
    const { queue, job } = await crashWithJob()
    const starts: number[] = []
    await start(
      async ({ attemptsStarted }: Job) => {
        starts.push(attemptsStarted)
        throw statusError(503)
      },
      { deadLetters },
      { stalledInterval: 300 },
      queue,
    )
    await expect.poll(() => queue.getJobState(job.id ?? '')).toBe('failed')
    expect(starts).toEqual([2, 3])
    expect([...deadLetters.entries.values()]).toMatchObject([{ itemId: job.id, payload: { n: 1 } }])
  })

  it('stores a job that stalled too often, although its processor did not run', async () => {
    const deadLetters = memoryDeadLetters()
    const { queue, job } = await crashWithJob()
    let calls = 0
    await start(
      async () => void calls++,
      { deadLetters },
      { stalledInterval: 300, maxStalledCount: 0 },
      queue,
    )
    await expect.poll(() => deadLetters.entries.size).toBe(1)
    expect(await queue.getJobState(job.id ?? '')).toBe('failed')
    expect(calls).toBe(0)
    expect([...deadLetters.entries.values()]).toMatchObject([{ itemId: job.id, payload: { n: 1 } }])
  })

  it('runs jobs as calls of a runtime, records them and replays a stored job', async () => {
    const hf = await Holdfast.open({ config: { policies: { mail: { maxAttempts: 1 } } } })
    onTestFinished(() => hf.close())
    const { add, reach, queue } = await start(
      async () => {
        throw statusError(422)
      },
      { guard: hf.guard('mail'), deadLetters: hf.deadLetters, operation: 'mail' },
    )
    const job = await reach(await add({ address: 'ada' }), 'failed')
    const { items: sessions } = await hf.sessions.list()
    expect(sessions).toMatchObject([{ operation: 'mail', success: false }])
    expect(sessions[0]?.context).toMatchObject({ queue: queue.name, jobId: job.id })
    const replayed: unknown[] = []
    hf.deadLetters.handle('mail', (data) => void replayed.push(data))
    const { items } = await hf.deadLetters.list()
    expect(items).toMatchObject([{ itemId: job.id, operationType: 'mail' }])
    await hf.deadLetters.replay(items[0]?.dlqId ?? '')
    expect(replayed).toEqual([{ address: 'ada' }])
  })
})

it('rejects options that are not valid and lists all of them', () => {
  expect(() => guardJobs({ guard: {} as never, retry: { maxAttempts: 0 }, operation: '' })).toThrow(
    /guard.*operation.*maxAttempts/s,
  )
  expect(() => guardJobs({ attempts: 3 } as never)).toThrow(/attempts/)
})
