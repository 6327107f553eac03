import { Holdfast } from '@holdfast/runtime'
import { afterAll, expect, test } from '@jest/globals'
import { type Guard, guard, isHoldfastError } from 'holdfast'
import { Retry } from 'holdfast/decorators'
import { createFetch } from 'holdfast/http'

let opened: Holdfast | undefined
afterAll(() => opened?.close())

test('types and code of every entry resolve with moduleResolution node10', async () => {
  const call: Guard = guard({ timeout: { total: '1s' } })
  const value: number = await call.run(() => 1)
  expect([value, typeof Retry, typeof createFetch]).toEqual([1, 'function', 'function'])
})

test('a runtime runs an operation', async () => {
  opened = await Holdfast.open({ config: { version: '1.2.0', store: 'memory' } })
  expect(await opened.run('mail.send', async () => 'sent')).toBe('sent')
  expect(isHoldfastError(new Error('x'))).toBe(false)
})
