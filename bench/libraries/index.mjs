// Loaded one per process, when asked for.
export const byHand = () => import('./by-hand.mjs')
export const cockatiel = () => import('./cockatiel.mjs')
export const effect = () => import('./effect.mjs')
export const holdfast = () => import('./holdfast.mjs')
export const mollitia = () => import('./mollitia.mjs')
export const opossum = () => import('./opossum.mjs')
export const pRetry = () => import('./p-retry.mjs')
