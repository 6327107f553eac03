import { Holdfast, type OpenOptions } from '../../src/index.js'

// node open-child.mjs OPTIONS: opens a runtime, makes a call that fails, and says how many sessions there are then.
try {
  const hf = await Holdfast.open({ ...(JSON.parse(process.argv[2] ?? '{}') as OpenOptions), env: {} })
  await hf.run('default', () => Promise.reject(new TypeError('wrong'))).catch(() => {})
  console.log(`${(await hf.sessions.list()).items.length} session`)
  await hf.close()
} catch (error) {
  const { code, message } = error as Error & { code?: string }
  console.log(`${code}: ${message}`)
}
