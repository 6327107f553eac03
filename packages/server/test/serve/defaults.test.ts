import { CONFIG_DEFAULTS } from '@holdfast/config'
import { PROXY_DEFAULTS } from '@holdfast/proxy/internal'
import { expect, test } from 'vitest'

test('the defaults of the proxy section are those of the proxy itself', () => {
  expect(PROXY_DEFAULTS).toMatchObject(CONFIG_DEFAULTS.proxy)
})
