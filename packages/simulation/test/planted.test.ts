import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { runCommand } from './run-command.js'

it('finds planted bugs, and prints them in a table', { timeout: 2_400_000 }, async () => {
  const folder = fileURLToPath(new URL('planted', import.meta.url))
  const { code, output } = await runCommand('planted.mjs', '--folder', folder, '--seeds', '3')
  expect(output).toMatch(/early-acknowledgement +found +seed \d: lost: /)
  expect(output).toMatch(/forgotten-await +found +seed \d: completed: /)
  expect(output).toMatch(/endless-promise-loop +found +seed \d: hangs: .*its code or its promises loop/)
  expect(output).toMatch(/forgotten-listener +found +seed \d: memory: .*AbortSignal/)
  expect(output).toContain('4 of 4 found')
  expect(code).toBe(0)
})
