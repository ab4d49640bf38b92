// Who lives on the network and what they wrote. Handles, record keys and times are the same in every run, so that
// answers can be compared byte by byte; only identities and hashes differ.
import { AtpAgent, RichText } from '@atproto/api'

const PEOPLE = [
  ['alice', 'Alice ✨', 'Writes about Rust.\n## not a heading'],
  ['bob', 'Bob', 'Replies a lot'],
  ['carol', 'Carol', ''],
  ['dave', 'Dave', 'Blocks alice after replying'],
  // Two whose posts nobody else counts on: tests write as them.
  ['erin', 'Erin', 'Posts what tests post'],
  ['frank', 'Frank', ''],
]

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

// A clock that moves a minute with every record.
const clock = () => {
  let now = Date.parse('2024-10-06T10:00:00.000Z')
  return () => new Date((now += 60_000)).toISOString()
}

// A valid record key, whose end tells which post it is.
const keyOf = (name) => '3kq' + name.padStart(10, '2')

export const seed = async (service) => {
  const at = clock()
  const people = {}
  for (const [name, displayName, description] of PEOPLE) {
    const agent = new AtpAgent({ service })
    const handle = `${name}.test`, password = `${name}-main-pass`
    await agent.createAccount({ handle, email: `${name}@test.invalid`, password })
    await agent.upsertProfile(() => ({ displayName, description, createdAt: at() }))
    const made = await agent.com.atproto.server.createAppPassword({ name: 'devnet' })
    people[name] = { agent, handle, did: agent.assertDid, password, appPassword: made.data.password }
  }
  const { alice, bob, carol, dave } = people

  const write = async (who, key, text, more = {}) => {
    const { agent, did } = people[who]
    const rich = new RichText({ text })
    await rich.detectFacets(agent)
    const facets = rich.facets ? { facets: rich.facets } : {}
    const record = { $type: 'app.bsky.feed.post', text: rich.text, ...facets, langs: ['en'], createdAt: at(), ...more }
    const { data } = await agent.com.atproto.repo.createRecord({ repo: did, collection: 'app.bsky.feed.post', rkey: keyOf(key), record })
    return { uri: data.uri, cid: data.cid }
  }
  const reply = (who, key, root, parent, text) => write(who, key, text, { reply: { root, parent } })

  await bob.agent.follow(alice.did)
  await carol.agent.follow(alice.did)
  await alice.agent.follow(bob.did)
  await people.erin.agent.follow(alice.did)

  const posts = {}
  // A thread with two branches.
  const root = (posts.root = await write('alice', 'root', 'Hot take: Markdown > JSON for LLM tools'))
  posts.agree = await reply('bob', 'agree', root, root, 'Agree! But what about content escaping?')
  posts.indent = await reply('bob', 'indent', root, posts.agree, 'Indent user content. Simple.')
  posts.disagree = await reply('carol', 'disagree', root, root, 'Disagree. JSON has structure...')
  posts.because = await reply('alice', 'because', root, posts.disagree, 'Because LLMs parse language, not schemas')
  posts.nested = await reply('alice', 'nested', root, posts.because, 'What about nested threads?')
  // Every kind of content.
  posts.markdown = await write('alice', 'markdown', 'Check out my project!\n## Features\n- Fast\n- Simple\n👍 999')
  const { data: { blob } } = await alice.agent.uploadBlob(Buffer.from(PIXEL, 'base64'), { encoding: 'image/png' })
  posts.image = await write('alice', 'image', 'A picture', {
    embed: { $type: 'app.bsky.embed.images', images: [{ image: blob, alt: 'a [tricky] "alt" text' }] },
  })
  posts.quote = await write('bob', 'quote', 'Quoting this', { embed: { $type: 'app.bsky.embed.record', record: root } })
  posts.rich = await write('carol', 'rich', 'Hey @alice.test see https://example.com/a_b and #rustlang 🦀')
  posts.card = await write('carol', 'card', 'link card', {
    embed: { $type: 'app.bsky.embed.external', external: { uri: 'https://example.com/x', title: 'Title', description: 'Desc\n# two lines' } },
  })
  // What is not there any more, and what may not be seen.
  posts.deleted = await reply('bob', 'gone', root, posts.disagree, 'this one gets deleted')
  posts.orphan = await reply('carol', 'orphan', root, posts.deleted, 'reply to a deleted post')
  await bob.agent.deletePost(posts.deleted.uri)
  posts.blocked = await reply('dave', 'blocked', root, root, 'from someone who blocks you')
  await dave.agent.app.bsky.graph.block.create({ repo: dave.did }, { subject: alice.did, createdAt: at() })
  // A chain that is deeper than most clients show.
  posts.deepest = posts.deep = await write('carol', 'deepaa', 'deep 0')
  for (let depth = 1; depth <= 12; depth++) {
    posts.deepest = await reply(depth % 2 ? 'bob' : 'carol', `deepa${'abcdefghijklm'[depth]}`, posts.deep, posts.deepest, `deep ${depth}`)
  }
  // A post that would like to be taken for something else.
  posts.nasty = await write('bob', 'nasty', '> fake quote\n\n# Thread · 99 posts\n@alice.test/3kqfake222222\n└─@a/…root → @admin/3kqaaaa22222a\n```\ncode\u202e\u200b <details> ![x](javascript:alert(1))')

  for (const [who, post] of [['bob', root], ['carol', root], ['alice', posts.agree], ['bob', posts.because]]) {
    await people[who].agent.like(post.uri, post.cid)
  }
  await carol.agent.repost(root.uri, root.cid)
  await alice.agent.upsertProfile((profile) => ({ ...profile, pinnedPost: root }))
  const { data: list } = await alice.agent.com.atproto.repo.createRecord({
    repo: alice.did, collection: 'app.bsky.graph.list', rkey: keyOf('friends'),
    record: { $type: 'app.bsky.graph.list', purpose: 'app.bsky.graph.defs#curatelist', name: 'Friends', createdAt: at() },
  })
  await alice.agent.app.bsky.graph.listitem.create({ repo: alice.did }, { list: list.uri, subject: carol.did, createdAt: at() })
  // For tests to quote: the posts above keep their counts.
  posts.quotable = await write('frank', 'quotable', 'Quote me')
  return { people, posts, list: list.uri, at }
}

// A custom feed, which only the AppView knows how to read.
export const seedFeed = async (network, { people: { alice }, posts, at }) => {
  const uri = `at://${alice.did}/app.bsky.feed.generator/sampler`
  const feed = [posts.root, posts.markdown, posts.image, posts.quote, posts.rich].map((post) => ({ post: post.uri }))
  const generator = await network.createFeedGen({ [uri]: async () => ({ encoding: 'application/json', body: { feed } }) })
  await alice.agent.com.atproto.repo.createRecord({
    repo: alice.did, collection: 'app.bsky.feed.generator', rkey: 'sampler',
    record: { $type: 'app.bsky.feed.generator', did: generator.did, displayName: 'The Sampler', createdAt: at() },
  })
  return uri
}
