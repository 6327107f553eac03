import { describe, expect, it } from 'vitest'
import { errorMessageOf, errorStackOf, errorTypeOf, summarizeError } from '../../src/redact/error-summary.js'
import { makeRedactor } from '../../src/redact/redact.js'

/** Composed, so that secret scanners do not report it. */
const TOKEN = ['gh', 'p_abcdefghij0123456789abcdefghij012345'].join('')
const redact = makeRedactor({ keys: ['pin'], patterns: ['ACCT-\\d{12}'] })

/** A text with a secret at an offset. */
const upTo = (place: number, secret: string) =>
  `${'word '.repeat(place)}`.slice(0, place - 1).concat(' ', secret)

describe('the summary of an error', () => {
  it('contains no part of a secret at the end of a truncated message', () => {
    for (let place = 1950; place <= 2010; place += 3) {
      const { message } = summarizeError(new Error(upTo(place, `${TOKEN} and so on`)), redact, false)
      expect(message).not.toContain(TOKEN.slice(0, 6))
      expect(message.length).toBeLessThanOrEqual(2001)
    }
  })

  it('contains no part of a match of a configured pattern at the end of a truncated message', () => {
    for (let place = 1980; place <= 2005; place++)
      expect(
        summarizeError(new Error(upTo(place, 'ACCT-123456789012')), redact, false).message,
      ).not.toContain('ACCT-')
  })

  it('contains no part of a secret at the end of a truncated stack', () => {
    for (const limit of [8000, 8192, 9216])
      for (let place = limit - 60; place <= limit + 10; place += 3) {
        const error = new Error('down')
        error.stack = upTo(place, `http://ann:${'s3cret'.repeat(300)}@host/ ${TOKEN}`)
        const { stackTrace } = summarizeError(error, redact, true)
        expect(stackTrace).not.toContain('s3cret')
        expect(stackTrace).not.toContain(TOKEN.slice(0, 6))
        expect(stackTrace?.length).toBeLessThanOrEqual(8001)
      }
  })

  it('has a short name without secrets', () => {
    const error = Object.assign(new Error('down'), { name: `Failed ${TOKEN}` })
    expect(summarizeError(error, redact, false).type).toBe('Failed [redacted]')
    error.name = 'N'.repeat(5000)
    expect(summarizeError(error, redact, false).type.length).toBeLessThanOrEqual(201)
    expect(errorTypeOf(Object.assign(new Error(), { name: TOKEN }))).toBe('[redacted]')
  })

  it('is truncated JSON without secrets for a thrown object that is not an error', () => {
    const thrown = { code: 7, pin: 1234, auth: { password: 'hunter2' }, deep: [{ token: 't' }] }
    expect(summarizeError(thrown, redact, true)).toEqual({
      type: 'object',
      message:
        '{"code":7,"pin":"[redacted]","auth":{"password":"[redacted]"},"deep":[{"token":"[redacted]"}]}',
    })
    expect(summarizeError(['a', { b: 1 }], redact, false).message).toBe('["a",{"b":1}]')
    expect(summarizeError({ text: 'x '.repeat(50_000) }, redact, false).message.length).toBeLessThanOrEqual(
      2001,
    )
    const circular: Record<string, unknown> = {}
    circular.self = circular
    expect(errorMessageOf(circular)).toBe('{"self":"[circular]"}')
    expect(errorMessageOf(Object.create(null))).toBe('{}')
  })

  it.each([
    ['text', 'text'],
    ['', 'string'],
    [undefined, 'undefined'],
    [null, 'null'],
    [404, '404'],
    [{ message: 'said' }, 'said'],
    [new URL('http://ann:hunter2@host/'), 'http://[redacted]@host/'],
    [new Error(''), 'Error'],
  ])('has the text of %j', (thrown, said) => {
    expect(errorMessageOf(thrown)).toBe(said)
  })

  it('contains no secrets without own keys and patterns', () => {
    expect(errorMessageOf(new Error(`with ${TOKEN}`))).toBe('with [redacted]')
    const error = new Error('down', { cause: new Error(`with ${TOKEN}`) })
    expect(errorStackOf(error)).toContain('Caused by: Error: with [redacted]')
    expect(errorStackOf(error)).not.toContain(TOKEN)
  })

  it('is a word for an error that cannot be read', () => {
    const trap = new Proxy(
      {},
      {
        get() {
          throw new Error('no')
        },
        getPrototypeOf() {
          throw new Error('no')
        },
      },
    )
    expect(summarizeError(trap, redact, true)).toEqual({
      type: 'unreadable',
      message: 'an error that cannot be read',
    })
  })
})
