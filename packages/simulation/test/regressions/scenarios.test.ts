import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parseScenario } from '../../src/scenario/scenario-file.js'
import { simulate } from '../../src/simulate.js'

const TIMEOUT_MS = 300_000

const folder = new URL('scenarios/', import.meta.url)

/** Scenarios that once found a bug. Unlike the number of a seed they have the same calls and faults after a change of the generator. */
const files = readdirSync(fileURLToPath(folder)).filter((name) => name.endsWith('.json'))

describe('scenarios that once found a bug', () => {
  it.each(files)('%s', { timeout: TIMEOUT_MS }, async (file) => {
    const scenario = parseScenario(readFileSync(new URL(file, folder), 'utf8'))
    expect((await simulate(scenario)).violation).toBeUndefined()
  })
})
