import { describe, expect, it } from 'vitest'
import { migrateConfig, migrateRecords } from '../../src/index.js'

const told = (given: Parameters<typeof migrateConfig>[0]) => {
  const { text, report } = migrateConfig(given)
  return {
    text,
    ok: report.integrity.ok,
    said: report.problems.map(({ path, message }) => `${path}: ${message}`).join('\n'),
  }
}

describe('old settings', () => {
  it.each([
    'version: "1.0.0"\npolicies: { a: &x { b: *x } }\n',
    'version: "1.0.0"\npolicies: &p { a: {}, b: *p }\n',
    'version: "1.0.0"\nother: &o [*o]\n',
    'a: &x\n  retries: 3\n  inner: *x\n',
    'a: &x\n  inner: *x\n',
  ])('in a circle are a problem: %j', (text) => {
    expect(told(text)).toMatchObject({ ok: false, said: expect.stringContaining('circular') })
  })

  it('that are an object are read as far as they are data', () => {
    const circle: Record<string, unknown> = { retries: 3 }
    circle.own = circle
    expect(told({ browser: circle })).toMatchObject({ ok: false, said: expect.stringContaining('circular') })
    const own = { version: '1.0.0', policies: { a: { max_attempts: 2 } }, other: { f: () => 1 } }
    expect(told(own)).toMatchObject({ ok: false, said: expect.stringContaining('a function') })
  })

  it('with aliases that are no circle are read', () => {
    const { ok, text } = told('base: &b { retries: 3 }\nsave: *b\nload: *b\n')
    expect(ok).toBe(true)
    expect(text.match(/max_attempts: 4/g)).toHaveLength(3)
  })

  it.each(['"2.0.0"', '"3.1"', '2', '0.9', '"latest"', '[1]'])(
    'of another version are not relabelled: %s',
    (version) => {
      const { ok, said, text } = told(`version: ${version}\npolicies: { a: { max_attempts: 4 } }\n`)
      expect(ok).toBe(false)
      expect(said).toMatch(/^version: expected 1\.0\.x, 1\.1\.x or 1\.2\.x, got /)
      expect(text).not.toContain('max_attempts')
    },
  )

  it('of a newer minor version are read, and that is said', () => {
    const { ok, said } = told('version: "1.9.0"\npolicies: { a: { max_attempts: 4 } }\n')
    expect(ok).toBe(true)
    expect(said).toBe('version: expected 1.2 or older, got "1.9.0"; it was read as 1.2.0')
  })

  it.each(['1', '1.0', '"1.0"', '"1.0.3"', '"1.1.0"'])('of version %s are read', (version) => {
    expect(told(`version: ${version}\npolicies: { a: { max_attempts: 4 } }\n`)).toMatchObject({
      ok: true,
      said: '',
    })
  })

  it('that retry fewer times than never are a problem', () => {
    expect(told('retries: -3\n')).toMatchObject({
      ok: false,
      said: expect.stringContaining('or -1 for no limit, got -3'),
    })
    expect(told('retries: -1\n')).toMatchObject({ ok: true, said: 'retries: -1 was read as no limit' })
    expect(told('retries: 0\n')).toMatchObject({ ok: true, said: '' })
  })
})

describe('old sessions', () => {
  const failed = {
    attempt_number: 1,
    timestamp: '2024-01-01T00:00:00Z',
    delay: 0,
    success: false,
    duration: 0.5,
    error: { type: 'E', message: 'm' },
  }
  const good = {
    attempt_number: 2,
    timestamp: '2024-01-01T00:00:01Z',
    delay: 0.5,
    success: true,
    duration: 1,
  }
  const session = {
    session_id: 'p_1_a',
    policy_id: 'p',
    operation: 'o',
    start_time: '2024-01-01T00:00:00Z',
    end_time: '2024-01-01T00:00:02Z',
    attempts: [failed, good],
    success: true,
    total_attempts: 2,
    total_duration: 2,
    retry_count: 1,
  }
  const read = async (change: object) => {
    const { report } = await migrateRecords(JSON.stringify({ ...session, ...change }))
    return report.problems.map(({ message }) => message).join()
  }

  it.each([
    [{ attempts: [{ ...failed, attempt_number: 0 }, good] }, 'attempts.0.attempt_number: '],
    [
      { attempts: [failed, { ...failed, attempt_number: 2 }] },
      'success: expected false, because no attempt succeeded, got true',
    ],
    [{ total_attempts: 5 }, 'total_attempts: expected 2, the number of attempts, got 5'],
    [{ end_time: undefined, total_attempts: 4 }, 'total_attempts: expected 2, the number of attempts, got 4'],
    [{ retry_count: 4 }, 'retry_count: expected 1, one less than total_attempts, got 4'],
  ])('that contradict themselves are rejected, and the reason is said: %j', async (change, said) => {
    expect(await read(change)).toContain(`sessions: ${said}`)
  })

  const proxied = (number: number, outcome: string) => ({
    attempt_number: number,
    timestamp: failed.timestamp,
    outcome,
    delay_before: 0,
    latency: 1,
  })

  it.each([
    [{}],
    [{ total_attempts: undefined, retry_count: undefined }],
    [{ attempts: [proxied(0, 'failure'), proxied(1, 'success')] }],
    [{ attempts: [failed], success: false, total_attempts: 1, retry_count: 0 }],
    [{ end_time: undefined, attempts: [failed], success: false, total_attempts: 2, retry_count: 1 }],
  ])('that do not are taken: %j', async (change) => {
    expect(await read(change)).toBe('')
  })

  it('of which not all attempts were kept say how many there were', async () => {
    const attempts = Array.from({ length: 1000 }, (_, i) => ({ ...failed, attempt_number: i + 1 }))
    const long = { ...session, attempts, success: false, total_attempts: 5000, retry_count: 4999 }
    const { records } = await migrateRecords(JSON.stringify(long))
    expect(records).toMatchObject([{ total_attempts: 5000, retry_count: 4999 }])
  })
})
