import { describe, expect, it } from 'vitest'
import { CircuitBreaker, classify, guard } from '../../src/index.js'

/** Errors like those of the driver: an own class, a number as code, labels behind a getter. */
class MongoError extends Error {
  readonly labels: readonly string[]

  constructor(message: string, labels: readonly string[] = []) {
    super(message)
    this.labels = labels
  }

  override get name() {
    return 'MongoError'
  }

  get errorLabels() {
    return [...this.labels]
  }
}

class MongoServerError extends MongoError {
  readonly code: number

  constructor(code: number, labels: readonly string[] = [], message = `E${code} error`) {
    super(message, labels)
    this.code = code
  }

  override get name() {
    return 'MongoServerError'
  }
}

class MongoBulkWriteError extends MongoServerError {
  override get name() {
    return 'MongoBulkWriteError'
  }
}

class MongoNetworkError extends MongoError {
  override get name() {
    return 'MongoNetworkError'
  }
}

describe('errors of MongoDB', () => {
  it.each([
    ['a duplicate key', new MongoServerError(11000), 'permanent', 'conflict'],
    ['a duplicate key of an update', new MongoServerError(11001), 'permanent', 'conflict'],
    ['a duplicate key in a bulk write', new MongoBulkWriteError(11000), 'permanent', 'conflict'],
    [
      'a duplicate key with a label',
      new MongoServerError(11000, ['RetryableWriteError']),
      'permanent',
      'conflict',
    ],
    ['a write conflict', new MongoServerError(112, ['TransientTransactionError']), 'transient', 'conflict'],
    [
      'a primary that stepped down',
      new MongoServerError(189, ['RetryableWriteError']),
      'transient',
      'server_error',
    ],
    [
      'a lost connection',
      new MongoNetworkError('closed', ['RetryableWriteError']),
      'transient',
      'network_error',
    ],
    ['anything else', new MongoServerError(96), 'transient', 'unknown'],
  ])('%s', (_, error, category, kind) => {
    expect(classify(error)).toMatchObject({ category, kind })
    expect(classify(new Error('could not save', { cause: error }))).toMatchObject({ category, kind })
  })

  it('a number that means a duplicate key to MongoDB is ignored in other errors', () => {
    expect(classify(Object.assign(new Error('x'), { code: 11000 }))).toMatchObject({ kind: 'unknown' })
  })

  it('a duplicate key is neither retried nor counted by a breaker', async () => {
    const breaker = new CircuitBreaker({ failureThreshold: 1 })
    let calls = 0
    const insert = guard({ breaker, retry: { backoffType: 'immediate' } }).run(async () => {
      calls++
      throw new MongoServerError(11000)
    })
    await expect(insert).rejects.toBeInstanceOf(MongoServerError)
    expect([calls, breaker.state]).toEqual([1, 'closed'])
  })
})
