import { describe, expect, it } from 'vitest'
import { failing, start } from '../../../runtime/test/holdfast/setup.js'
import { makeRedactor } from '../../src/redact/redact.js'

const redact = makeRedactor({ keys: ['my_thing', 'pinCode', 'x-tenant', 'a.b', '['] })

describe('a secret key of the user', () => {
  it.each([
    ['my_thing=SEK1 was wrong', 'my_thing=[redacted] was wrong'],
    ['myThing=SEK1', 'myThing=[redacted]'],
    ['my-thing: SEK1', 'my-thing: [redacted]'],
    ['MY_THING=SEK1, n=1', 'MY_THING=[redacted], n=1'],
    ['My-Thing: SEK1', 'My-Thing: [redacted]'],
    ['mything=SEK1', 'mything=[redacted]'],
    ['pincode=1', 'pincode=[redacted]'],
    ['pin_code = 1234;', 'pin_code = [redacted];'],
    ['PIN_CODE=SEK1', 'PIN_CODE=[redacted]'],
    ['x-tenant: SEK1', 'x-tenant: [redacted]'],
    ['/a?token=t1&pin-code=2&page=2', '/a?token=[redacted]&pin-code=[redacted]&page=2'],
    ['https://h/?a=1&my_thing=SEK1&b=2', 'https://h/?a=1&my_thing=[redacted]&b=2'],
    ['https://h/?myThing=SEK1#top', 'https://h/?myThing=[redacted]'],
    ['{"myThing":"SE K1","n":1}', '{"myThing":"[redacted]","n":1}'],
    ['{"my_thing":1234,"n":1}', '{"my_thing":[redacted],"n":1}'],
    ['{"my_thing":["SEK1","SEK2"],"n":1}', '{"my_thing":[redacted],"n":1}'],
    ['{"my_thing":{"a":{"b":"SEK1}"},"c":["SEK2"]},"n":1}', '{"my_thing":[redacted],"n":1}'],
    ['{"my_thing":{"a":"SEK1"},"n":1}', '{"my_thing":[redacted],"n":1}'],
    ['"{\\"my_thing\\":\\"SE K1\\",\\"n\\":1}"', '"{\\"my_thing\\":\\"[redacted]\\",\\"n\\":1}"'],
    ["{ myThing: 'SE K1', n: 1 }", "{ myThing: '[redacted]', n: 1 }"],
    ["Map(1) { 'my_thing' => 'SE K1' }", "Map(1) { 'my_thing' => '[redacted]' }"],
    ['--my-thing=SEK1', '--my-thing=[redacted]'],
    ['user.myThing: SEK1', 'user.myThing: [redacted]'],
    ['a.b=SEK1 a_b: SEK2', 'a.b=[redacted] a_b: [redacted]'],
  ])('%s', (given, expected) => {
    expect(redact(given)).toBe(expected)
    expect(redact(redact(given))).toBe(expected)
  })

  it.each(['my_things=1', 'amything=1', 'x_my_thing=1', 'pinCodeLength=4', 'my thing is here', 'my_thing'])(
    'and no other: %s',
    (text) => {
      expect(redact(text)).toBe(text)
    },
  )

  it('with any letters is redacted in texts', () => {
    const own = makeRedactor({ keys: ['пароль'] })
    expect(own({ пароль: 'SEK1', другое: 'a' })).toEqual({ пароль: '[redacted]', другое: 'a' })
    expect(own('пароль=SEK1 другое=a')).toBe('пароль=[redacted] другое=a')
  })

  it('is redacted before an arrow, like a built-in name', () => {
    expect(redact("{ 'password' => 'SE K1' }")).toBe("{ 'password' => '[redacted]' }")
    expect(redact('password => SEK1')).toBe('password => [redacted]')
  })

  it('is redacted in linear time', () => {
    const all = makeRedactor({ keys: Array.from({ length: 200 }, (_, i) => `key_of_mine_${i}`) })
    for (const text of ['key_of_mine_'.repeat(700), 'k-e-y_'.repeat(1300), 'key_of_mine_1={'.repeat(500)])
      expect(all(text).length).toBeGreaterThan(0)
  })

  it('is redacted in messages of records, events and log lines', async () => {
    const lines: string[] = []
    const line = (fields: object, message: string) => void lines.push(JSON.stringify(fields), message)
    const logger = { debug: line, info: line, warn: line, error: line }
    const policies = { quick: { maxAttempts: 2, backoffType: 'immediate' } }
    const { hf, events } = await start({ policies, redact: { keys: ['my_thing'] } }, { logger })
    await failing(hf, 'quick', () => new Error('refused: myThing=SEK1, see https://h/?my_thing=SEK1'), {
      context: { note: 'my-thing: SEK1' },
    })
    const all = [lines, events, await hf.sessions.list(), await hf.errors.list(), await hf.events.list()]
    expect(lines.length).toBeGreaterThan(0)
    expect(JSON.stringify(all)).not.toContain('SEK1')
  })
})
