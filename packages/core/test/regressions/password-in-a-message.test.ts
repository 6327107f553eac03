import { expect, it } from 'vitest'
import { guard, type HoldfastError, Pool } from '../../src/index.js'

const url = 'http://user:hunter2@proxy.example:8080'

it.each([
  [
    'an option that there is not',
    () => new Pool({ id: 'p', members: [{ id: 'a', value: 1, url } as never] }),
  ],
  ['a member that is none', () => new Pool({ id: 'p', members: [url as never] })],
  ['an id', () => new Pool({ id: 'p', members: [] }).remove(url)],
  ['a list', () => guard({ retry: { retryOn: [url, 1] as never } })],
])('the password of a URL is not shown: %s', (_, make) => {
  let message = ''
  try {
    make()
  } catch (error) {
    const { code, details, message: said } = error as HoldfastError
    message = JSON.stringify([code, details, said])
  }
  expect(message).toContain('INVALID_OPTIONS')
  expect(message).not.toContain('hunter2')
})
