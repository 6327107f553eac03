import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type ClientState, ReplyChecker } from '../src/reply-checker.js'

const READING: ClientState = { command: 'get', isSubscriber: false }
const IDLE: ClientState = { command: undefined, isSubscriber: false }
const SUBSCRIBING: ClientState = { command: 'subscribe', isSubscriber: false }
const SUBSCRIBER_OF_VERSION_2: ClientState = { command: undefined, isSubscriber: true }

/** Reads chunks and returns what was passed on. */
function read(state: ClientState, ...chunks: readonly string[]): string[] {
  const passed: string[] = []
  const checker = new ReplyChecker(
    () => state,
    (bytes) => void passed.push(bytes.toString('latin1')),
  )
  for (const chunk of chunks) checker.read(Buffer.from(chunk, 'latin1'))
  return passed
}

const text = fc.stringMatching(/^[a-z ]{0,9}$/)
const { reply } = fc.letrec<{ reply: string; list: string }>((tie) => ({
  reply: fc.oneof(
    {
      weight: 3,
      arbitrary: fc
        .uint8Array({ maxLength: 30 })
        .map((bytes) => `$${bytes.length}\r\n${Buffer.from(bytes).toString('latin1')}\r\n`),
    },
    text.map((line) => `+${line}\r\n`),
    text.map((line) => `-ERR ${line}\r\n`),
    text.map((line) => `=${line.length + 4}\r\ntxt:${line}\r\n`),
    text.map((line) => `!${line.length}\r\n${line}\r\n`),
    fc.integer().map((number) => `:${number}\r\n`),
    fc.bigInt().map((number) => `(${number}\r\n`),
    fc.constantFrom(
      '_\r\n',
      '$-1\r\n',
      '*-1\r\n',
      '#t\r\n',
      '#f\r\n',
      ',1.5\r\n',
      ',-1e-7\r\n',
      ',inf\r\n',
      ',nan\r\n',
      '*0\r\n',
    ),
    tie('list'),
  ),
  list: fc
    .tuple(fc.constantFrom('*', '~', '%'), fc.array(tie('reply'), { maxLength: 4 }))
    .map(([type, items]) => {
      const whole = type === '%' ? items.slice(0, items.length & ~1) : items
      return `${type}${type === '%' ? whole.length / 2 : whole.length}\r\n${whole.join('')}`
    }),
}))

describe('the checker of replies', () => {
  it('passes on valid replies unchanged, wherever they are cut', () => {
    fc.assert(
      fc.property(
        fc.array(reply, { maxLength: 5 }),
        fc.array(fc.nat(200), { maxLength: 8 }),
        (replies, cuts) => {
          const bytes = replies.join('')
          const places = [
            0,
            ...cuts.map((cut) => Math.min(cut, bytes.length)).toSorted((a, b) => a - b),
            bytes.length,
          ]
          const chunks = places.slice(1).map((place, i) => bytes.slice(places[i], place))
          expect(read(READING, ...chunks).join('')).toBe(bytes)
          expect(read(READING, bytes)).toEqual(replies)
        },
      ),
    )
  })

  it.each([
    ['an unknown type', '?1\r\n', 'unknown type'],
    ['text of another protocol', 'HTTP/1.1 400 Bad Request\r\n', 'unknown type'],
    ['an empty line', '\r\n', 'empty'],
    ['a line without LF', '+OK\rx\n', 'CR LF'],
    ['a line without an end', `+${'x'.repeat(70_000)}`, 'no end'],
    ['a number that is none', ':x\r\n', 'unknown type'],
    ['null with a text', '_x\r\n', 'unknown type'],
    ['a length that is none', '$x\r\n', 'length'],
    ['a negative length', '$-2\r\n', 'length'],
    ['a text that is shorter than its format', '=3\r\ntxt\r\n', 'length'],
    ['a length of 2 GB', '$2147483647\r\n', 'bytes'],
    ['a list of 30,000,000 values', '*30000000\r\n', 'values'],
    ['lists that together declare too many values', '*1000000\r\n'.repeat(2), 'values'],
    ['lists in lists', '*1\r\n'.repeat(33), 'nested'],
    ['a message in a list', '*1\r\n>2\r\n+a\r\n+b\r\n', 'within'],
    ['a message without a channel', '>1\r\n+message\r\n', 'texts'],
    ['a message whose channel is null', '>3\r\n+message\r\n_\r\n+x\r\n', 'texts'],
    ['a message whose kind is a list', '>2\r\n*1\r\n+a\r\n+b\r\n', 'texts'],
  ])('rejects %s', (_, bytes, reason) => {
    expect(() => read(READING, bytes)).toThrow(reason)
  })

  it('limits the bytes of a reply by their sum, and not those of several replies', () => {
    const large = `$${40 * 2 ** 20}\r\n${'x'.repeat(40 * 2 ** 20)}\r\n`
    expect(read(READING, large, large)).toHaveLength(2)
    expect(() => read(READING, `*2\r\n${large}`, large)).toThrow('67108864 bytes')
  })

  it.each([
    [IDLE, '$-1\r\n', 'a reply to no command'],
    [IDLE, '*0\r\n', 'a reply to no command'],
    [SUBSCRIBING, '_\r\n', 'subscription'],
    [SUBSCRIBING, ':1\r\n', 'subscription'],
    [SUBSCRIBING, '*0\r\n', 'texts'],
    [SUBSCRIBER_OF_VERSION_2, '*2\r\n$-1\r\n$-1\r\n', 'texts'],
    [SUBSCRIBER_OF_VERSION_2, '*-1\r\n', 'length'],
    [SUBSCRIBER_OF_VERSION_2, '+PONG\r\n', 'a reply to no command'],
  ])('with the state %o rejects %j', (state, bytes, reason) => {
    expect(() => read(state, bytes)).toThrow(reason)
  })

  it.each([
    [IDLE, '-ERR max number of clients reached\r\n'],
    [IDLE, '>3\r\n+message\r\n+news\r\n_\r\n'],
    [SUBSCRIBING, '*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n'],
    [SUBSCRIBING, '>3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n'],
    [SUBSCRIBING, '-NOPERM no\r\n'],
    [SUBSCRIBER_OF_VERSION_2, '*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$1\r\nx\r\n'],
  ])('with the state %o accepts %j', (state, bytes) => {
    expect(read(state, bytes)).toEqual([bytes])
  })

  it('shows no part of a reply in its errors', () => {
    expect(() => read(READING, 'hunter2\r\n')).toThrow(/^(?!.*hunter2)/)
  })
})
