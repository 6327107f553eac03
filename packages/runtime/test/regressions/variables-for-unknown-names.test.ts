import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { start } from '../holdfast/setup.js'

let stderr: string[]
beforeEach(() => {
  stderr = []
  vi.spyOn(console, 'error').mockImplementation((line) => void stderr.push(String(line)))
})
afterEach(() => vi.restoreAllMocks())

describe('an environment variable for an unknown policy or breaker', () => {
  const warned = async (env: Record<string, string>) => {
    const { hf } = await start(
      { policies: { 'my-pol': {} }, circuitBreakers: { api: {} }, pools: { q: { members: [] } } },
      { env },
    )
    return hf.config.warnings.map(({ path, message }) => `${path} ${message}`)
  }

  it('causes a warning with the known names', async () => {
    expect(await warned({ HOLDFAST_POLICIES_NOPE_MAX_ATTEMPTS: '3' })).toEqual([
      expect.stringMatching(
        /^HOLDFAST_POLICIES_NOPE_MAX_ATTEMPTS unknown name under policies; expected one of my-pol, /,
      ),
    ])
    expect(stderr.join()).toContain('HOLDFAST_POLICIES_NOPE_MAX_ATTEMPTS')
    expect(await warned({ HOLDFAST_CIRCUIT_BREAKERS_OTHER_FAILURE_THRESHOLD: '3' })).toEqual([
      'HOLDFAST_CIRCUIT_BREAKERS_OTHER_FAILURE_THRESHOLD unknown name under circuit_breakers; expected one of api',
    ])
  })

  it('causes a warning with a suggestion if it is similar to another, and valid or unrelated variables cause none', async () => {
    expect(await warned({ HOLDFAST_POLICIES_MY_POL_MAX_ATEMPTS: '3' })).toEqual([
      'HOLDFAST_POLICIES_MY_POL_MAX_ATEMPTS unknown variable (did you mean HOLDFAST_POLICIES_MY_POL_MAX_ATTEMPTS?)',
    ])
    expect(await warned({ HOLDFAST_TOKEN: '3', HOLDFAST_POLICIES_MY_POL_MAX_ATTEMPTS: '4' })).toEqual([])
  })
})
