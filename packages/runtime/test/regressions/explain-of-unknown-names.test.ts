import { describe, expect, it } from 'vitest'
import { start } from '../holdfast/setup.js'

const CONFIG = {
  policies: { fetch: { maxAttempts: 2 } },
  subsystems: { telemetry: { enabled: true } },
  subsystemMappings: { browser: { save: { timeout: 'fetch', default: 'fetch' } } },
}

describe('explain', () => {
  it.each([
    [
      'browsr.save',
      'the configuration has no subsystem "browsr", so the policy default applies; did you mean "browser"?',
    ],
    ['zzz.save', 'the configuration has no subsystem "zzz", so the policy default applies'],
    [
      'browser.sav',
      'the subsystem "browser" maps no operation "sav", so the policy default applies; did you mean "save"?',
    ],
    ['browser.save.timeuot', 'browser.save maps no kind "timeuot"; did you mean "timeout"?'],
    ['browser', '"browser" is a subsystem, not an operation: name one as browser.save'],
    ['fetsh', 'no policy is called "fetsh", so the policy default applies; did you mean "fetch"?'],
    ['constructor.save', 'the configuration has no subsystem "constructor", so the policy default applies'],
  ])('reports the unknown part of %s with a suggestion', async (operation, note) => {
    const { hf } = await start(CONFIG)
    expect((await hf.config.explain(operation)).notes).toEqual([note])
  })

  it.each(['browser.save', 'browser.save.timeout', 'telemetry.read', 'fetch', 'default'])(
    'has nothing to add to %s',
    async (operation) => {
      const { hf } = await start(CONFIG)
      expect((await hf.config.explain(operation)).notes).toEqual([])
    },
  )
})
