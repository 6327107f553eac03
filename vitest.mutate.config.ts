import { defineConfig, mergeConfig } from 'vitest/config'
import base from './vitest.config.js'

// The engine's own tests on its sources: what is built does not change with a mutant, a database is too slow to
// start for each, and a mutant that lives through some hundred generated histories is for a test of its own to kill.
const config = mergeConfig(base, {
  test: {
    env: { HISTORIES: '300' },
    exclude: ['packages/core/test/package.test.ts', 'packages/core/test/sql/postgres.test.ts'],
  },
})
config.test.include = ['packages/core/test/**/*.test.ts']
delete config.test.projects

export default defineConfig(config)
