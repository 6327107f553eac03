import { createRequire } from 'node:module'
import { Holdfast } from '@holdfast/runtime'
import { guard, HoldfastError } from 'holdfast'
import { expect, test } from 'vitest'

test('errors of the CommonJS form are instances of the class of the modules', async () => {
  const { HoldfastError: CommonJsError } = createRequire(import.meta.url)('holdfast')
  expect(new CommonJsError('CANCELLED', 'stopped')).toBeInstanceOf(HoldfastError)
  expect(await guard().run(() => 1)).toBe(1)
})

test('a runtime runs an operation', async () => {
  const hf = await Holdfast.open({ config: { version: '1.2.0', store: 'memory' } })
  expect(await hf.run('mail.send', async () => 'sent')).toBe('sent')
  await hf.close()
})
