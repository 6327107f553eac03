import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { filesStore } from '../src/files/index.js'
import { storedBreaker } from './contract/records.js'
import { tempFolder } from './place.js'

it.each(['', '{ "a": {', '\0\0\0\0', 'null'])(
  'starts without breakers if their file is %j, and replaces it',
  async (text) => {
    const dir = await tempFolder()
    const warnings: string[] = []
    const store = filesStore(dir, { warn: (line) => warnings.push(line) })
    await store.open()
    onTestFinished(() => store.close())
    await store.breakers.save([storedBreaker('a')])
    await writeFile(join(dir, 'breakers.json'), text)
    expect(await store.breakers.load()).toEqual([])
    expect(warnings).toEqual([expect.stringContaining('breakers.json is not valid JSON')])
    await store.breakers.save([storedBreaker('b')])
    expect((await store.breakers.load()).map(({ snapshot }) => snapshot.id)).toEqual(['b'])
  },
)
