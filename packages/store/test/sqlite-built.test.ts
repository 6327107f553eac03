import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { folder } from './sqlite-place.js'

const DIST = join(import.meta.dirname, '../dist')

it.each([
  ['modules', (file: string) => `import(${JSON.stringify(pathToFileURL(file).href)})`, 'index.js'],
  ['CommonJS', (file: string) => `Promise.resolve(require(${JSON.stringify(file)}))`, 'cjs/index.js'],
])('the built package has the connection in a thread, as %s', async (_, load, file) => {
  const url = `sqlite:${join(await folder(), 'holdfast.db')}`
  const program = `
    process.once('worker', () => console.log('a thread was started'))
    ${load(join(DIST, file))}.then(async ({ openStore }) => {
      const store = await openStore(${JSON.stringify(url)})
      await store.values.set('k', 1)
      console.log(await store.values.get('k'))
      await store.close()
    })`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=commonjs', '-e', program])
  expect(stdout).toBe('a thread was started\n1\n')
})
