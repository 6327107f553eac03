import { defineConfig, mergeConfig } from 'vitest/config'
import base from './vitest.config.js'

// Sources only: what is built does not change with a mutant, and a database is too slow to start for each.
const config = mergeConfig(base, {
  test: { exclude: ['packages/*/test/package.test.ts', 'packages/core/test/sql/postgres.test.ts'] },
})
config.test.include = ['packages/*/test/**/*.test.ts']
delete config.test.projects

export default defineConfig(config)
