// Errors of drivers whose servers do not run here: objects of the real packages, and connections to closed ports.
import { PrismaClientInitializationError, PrismaClientKnownRequestError } from '@prisma/client-runtime-utils'
import {
  Kafka,
  KafkaJSConnectionError,
  KafkaJSNumberOfRetriesExceeded,
  KafkaJSProtocolError,
  KafkaJSRequestTimeoutError,
  logLevel,
} from 'kafkajs'
import {
  MongoClient,
  MongoNetworkError,
  MongoNetworkTimeoutError,
  MongoServerError,
  MongoServerSelectionError,
} from 'mongodb'
import { describe, expect, it, onTestFinished } from 'vitest'
import { classify } from '../../../src/classify/index.js'
import { isTransientSqlError } from '../../../src/sql/index.js'
import { closedPort, failure } from './servers.js'

const outcome = (error: unknown): string => {
  const { category, kind } = classify(error)
  return `${category} ${kind}`
}

describe('prisma', () => {
  it.each([
    ['P1000', false],
    ['P1001', true],
    ['P1002', true],
    ['P1008', true],
    ['P1010', false],
    ['P1017', true],
    ['P2002', false],
    ['P2003', false],
    ['P2024', true],
    ['P2025', false],
    ['P2028', true],
    ['P2034', true],
  ])('with %s: %s', (code, expected) => {
    const known = new PrismaClientKnownRequestError('failed', { code, clientVersion: '7.10.1' })
    const atConnect = new PrismaClientInitializationError('failed', '7.10.1', code)
    for (const error of [known, atConnect, new Error('saving failed', { cause: known })])
      expect(isTransientSqlError(error)).toBe(expected)
  })

  it('without a code: the cause decides', () => {
    const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
    const error = new PrismaClientInitializationError('failed', '7.10.1')
    expect(isTransientSqlError(error)).toBe(false)
    expect(isTransientSqlError(Object.assign(error, { cause: refused }))).toBe(true)
  })

  it('with the code of Prisma on another error: not transient', () => {
    expect(isTransientSqlError(Object.assign(new Error('failed'), { code: 'P2034' }))).toBe(false)
  })
})

describe('mongodb', () => {
  it.each([
    ['a lost connection', new MongoNetworkError('connection 1 closed'), 'transient network_error'],
    ['a timeout of the network', new MongoNetworkTimeoutError('timed out'), 'transient timeout'],
    [
      'a write conflict in a transaction',
      new MongoServerError({
        code: 112,
        message: 'WriteConflict',
        errorLabels: ['TransientTransactionError'],
      }),
      'transient conflict',
    ],
    [
      'a new primary',
      new MongoServerError({ code: 10107, message: 'not primary', errorLabels: ['RetryableWriteError'] }),
      'transient server_error',
    ],
    ['a duplicate key', new MongoServerError({ code: 11000, message: 'E11000' }), 'permanent conflict'],
  ])('with %s: %s', (_, error, expected) => {
    expect(outcome(error)).toBe(expected)
  })

  it('without a server: transient', async () => {
    const client = new MongoClient(`mongodb://127.0.0.1:${await closedPort()}`, {
      serverSelectionTimeoutMS: 1,
    })
    onTestFinished(() => client.close())
    const error = await failure(() => client.connect())
    expect(error).toBeInstanceOf(MongoServerSelectionError)
    expect(classify(error).category).toBe('transient')
  })
})

describe('kafkajs', () => {
  it.each([
    ['a lost connection', new KafkaJSConnectionError('Closed connection'), 'transient network_error'],
    [
      'a timeout',
      new KafkaJSRequestTimeoutError('Request timed out', {
        broker: 'b',
        clientId: 'c',
        correlationId: 1,
        createdAt: 0,
        sentAt: 0,
        pendingDuration: 1,
      }),
      'transient timeout',
    ],
    [
      'retries that were used up',
      new KafkaJSNumberOfRetriesExceeded(new KafkaJSConnectionError('Closed connection'), {
        retryCount: 5,
        retryTime: 1,
      }),
      'transient network_error',
    ],
    [
      'a leader that is being elected',
      new KafkaJSProtocolError(
        Object.assign(new Error('no leader'), { type: 'LEADER_NOT_AVAILABLE', code: 5, retriable: true }),
      ),
      'transient unknown',
    ],
  ])('with %s: %s', (_, error, expected) => {
    expect(outcome(error)).toBe(expected)
  })

  it('without a broker: network_error', async () => {
    const broker = `127.0.0.1:${await closedPort()}`
    const kafka = new Kafka({ brokers: [broker], retry: { retries: 0 }, logLevel: logLevel.NOTHING })
    const error = await failure(() => kafka.producer().connect())
    expect(outcome(error)).toBe('transient network_error')
  })
})
