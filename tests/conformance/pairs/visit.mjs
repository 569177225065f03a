// What every client of this folder does at one server: list, call, fail, count, be asked, read.
export async function visit(client, transport, { onAsk, version, call }) {
  const out = { asked: [] };
  try {
    onAsk(({ params }) => {
      out.asked.push(params.message);
      return { action: 'accept', content: { colour: 'red' } };
    });
    await client.connect(transport);
    out.version = version();
    out.tools = (await client.listTools()).tools.map(({ name }) => name);
    const sum = await call('add', { a: 2, b: 3 });
    out.sum = sum.structuredContent;
    out.ours = Object.keys(sum._meta ?? {}).includes('dev.sallyport/call');
    const failed = await call('fail', {});
    out.failed = [failed.isError, failed.content.map(({ text }) => text).join(' ')];
    out.refused = await call('add', { a: 'two', b: 3 }).then((result) => result.isError);
    out.unknown = await call('nothing', {}).then(() => null, ({ code }) => code);
    out.progress = [];
    await call('count', { to: 3 }, { onprogress: ({ progress }) => out.progress.push(progress) });
    const painted = await call('paint', { what: 'door' }).catch(({ message }) => ({ isError: true, content: [{ text: message }] }));
    out.painted = [painted.isError ?? false, painted.content.map(({ text }) => text).join(' ')];
    out.read = (await client.readResource({ uri: 'note://one' })).contents[0].text;
    out.missing = await client.readResource({ uri: 'note://two' }).then(() => null, ({ code }) => code);
  } catch (error) {
    out.broke = `${error.stack ?? error}`;
  }
  console.log(JSON.stringify(out));
  await client.close();
}
