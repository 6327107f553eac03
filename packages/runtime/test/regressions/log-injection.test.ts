import { expect, it } from 'vitest'
import { Holdfast } from '../../src/index.js'

it('an error message with line breaks is one line of the log', async () => {
  const lines: string[] = []
  const log = (_fields: object, message: string): void => void lines.push(message)
  const logger = { debug: log, info: log, warn: log, error: log }
  const hf = await Holdfast.open({ config: { version: '1.1.0' }, logger, env: {}, watch: false })
  const hostile = 'down\r\n2026-01-29 INFO admin signed in\u001b[2J\u2028'
  await hf.run('save\nother', () => Promise.reject(new Error(hostile)), { retry: false }).catch(() => {})
  await hf.close()
  expect(lines.length).toBeGreaterThan(0)
  expect(lines.join('|')).toContain('admin signed in')
  // oxlint-disable-next-line no-control-regex -- control characters are what this is about
  for (const line of lines) expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/)
})
