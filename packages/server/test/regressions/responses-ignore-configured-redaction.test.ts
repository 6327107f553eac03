// The server redacted errors in responses, jobs and log lines without the keys and patterns of `redact`.
import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { Holdfast } from '@holdfast/runtime'
import { HoldfastError } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { describe, expect, test } from 'vitest'
import { JobRegistry } from '../../src/jobs/jobs.js'
import { open } from '../fixture.js'

const CONFIG = {
  version: '1.1.0',
  policies: { default: { maxAttempts: 1 }, off: { enabled: false } },
  redact: { keys: ['pin'], patterns: ['ACCT-\\d+', '127\\.0\\.0\\.\\d'] },
}

/** The URL of a port on which no server listens. */
async function unreachableUrl(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${port}/`
}

/** A runtime whose list of sessions throws an error. */
function failLists(hf: Holdfast, error: Error): void {
  hf.sessions.list = () => Promise.reject(error)
}

describe('with `redact` in the configuration, the server redacts', () => {
  test('the message and the details of an error response', async () => {
    const { hf, ask } = await open({}, CONFIG)
    failLists(hf, new HoldfastError('STORE_UNAVAILABLE', 'ACCT-77 failed', { details: ['pin=1234'] }))
    const { status, body } = await ask('GET', '/api/v1/sessions')
    expect(status).toBe(503)
    expect(body).toMatchObject({ message: '[redacted] failed', details: ['pin=[redacted]'] })
  })

  test('the log line of an unexpected error', async () => {
    const lines: unknown[] = []
    const logger = { debug() {}, info() {}, warn() {}, error: (fields: unknown) => void lines.push(fields) }
    const { hf, ask } = await open({ logger }, CONFIG)
    failLists(hf, new Error('paid from ACCT-77'))
    expect((await ask('GET', '/api/v1/sessions')).status).toBe(500)
    expect(lines).toHaveLength(1)
    expect(JSON.stringify(lines)).toContain('paid from [redacted]')
  })

  test.each(['default', 'off'])('the attempts of a request under the policy %s', async (policy) => {
    const { ask } = await open({ allowPrivateTargets: true }, CONFIG)
    const { body } = await ask('POST', '/api/v1/request', { body: { url: await unreachableUrl(), policy } })
    expect(body).toMatchObject({ error: 'UPSTREAM_FAILED', message: expect.stringContaining('[redacted]') })
    expect(body.details[0].error.message).toContain('[redacted]')
    expect(JSON.stringify(body)).not.toContain('127.0.0.1')
  })

  test('the message of a failed job', async () => {
    const { hf } = await open({}, CONFIG)
    const jobs = new JobRegistry(fakeClock(), {
      redact: (text) => hf.config.redact(text),
      logUnexpected: () => {},
    })
    const job = jobs.start(1, () => Promise.reject(new HoldfastError('STORE_UNAVAILABLE', 'ACCT-77 failed')))
    await new Promise(setImmediate)
    expect(job.message).toBe('[redacted] failed')
  })
})
