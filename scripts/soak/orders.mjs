// The order that becomes a dead letter when its calls fail. It is also the module of handlers of the server.

/** @param {{ url: string, key: string, text: string }} order @param {AbortSignal} [signal] */
export async function saveOrder(order, signal) {
  const response = await fetch(`${order.url}/orders`, {
    method: 'POST',
    headers: { 'idempotency-key': order.key },
    body: JSON.stringify(order),
    ...(signal && { signal }),
  })
  await response.arrayBuffer()
  if (!response.ok)
    throw Object.assign(new Error(`the service returned ${response.status}`), { status: response.status })
}

export default {
  'shop.orders': (
    /** @type {Parameters<typeof saveOrder>[0]} */ order,
    /** @type {unknown} */ _entry,
    /** @type {{ signal: AbortSignal }} */ { signal },
  ) => saveOrder(order, signal),
}
