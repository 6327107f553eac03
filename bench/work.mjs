// The work that every library is given. It yields a small number: what yields an object pays for V8's search for a
// `then` on it, once more in every library that hands it on.

export const VALUE = 7

/** @typedef {() => Promise<number>} Work */

export async function succeed() {
  return VALUE
}

const made = new Error('made beforehand')

/** @returns {Promise<number>} */
export async function failMade() {
  throw made
}

/** @returns {Promise<number>} */
export async function failFresh() {
  throw new Error('made for this attempt')
}

let gate = Promise.resolve()

/** Succeeds when the gate opens. */
export async function succeedBehindGate() {
  await gate
  return VALUE
}

/** Holds all work behind the gate from now on, until the function it returns is called. */
export function closeGate() {
  let open = () => {}
  gate = new Promise((resolve) => {
    open = resolve
  })
  return open
}
