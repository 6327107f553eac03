import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { open } from '../fixture.js'

test.each([
  ['a relative path that begins with ./', (folder: string) => `./${relative('.', folder)}`],
  ['a path with a trailing slash', (folder: string) => `${folder}/`],
])('the assets of a dashboard are served if its folder is %s', async (_, spell) => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-dashboard-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  mkdirSync(join(folder, 'assets'))
  writeFileSync(join(folder, 'assets', 'index.js'), 'export {}')
  const { ask } = await open({ dashboard: spell(folder) })
  expect(await ask('GET', '/assets/index.js')).toMatchObject({ status: 200, body: 'export {}' })
})
