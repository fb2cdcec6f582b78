//! What a command reaches, as the other end sees it.

use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};

use crate::harness::{TestHost, everywhere, unconfined};

#[test]
fn the_hosts_loopback_is_another_one() {
    let host = TestHost::new();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let attack = format!(
        "perl -MIO::Socket::INET -e '
            for my $host (\"127.0.0.1\", \"localhost\") {{
                print \"connected\\n\" if IO::Socket::INET->new(\"$host:{tcp}\");
            }}
            my $udp = IO::Socket::INET->new(PeerAddr => \"127.0.0.1:{udp}\", Proto => \"udp\");
            $udp->send(\"hello\") if $udp;'",
        tcp = tcp.local_addr().unwrap().port(),
        udp = udp.local_addr().unwrap().port(),
    );
    assert_eq!(
        unconfined(&host.tree(), &attack).stdout,
        "connected\nconnected\n"
    );
    udp.recv(&mut [0; 8]).unwrap();
    tcp.accept().unwrap();
    tcp.accept().unwrap();

    tcp.set_nonblocking(true).unwrap();
    udp.set_nonblocking(true).unwrap();
    for case in everywhere() {
        assert_eq!(host.sh(case, &attack).stdout, "");
        assert_eq!(tcp.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
        let received = udp.recv(&mut [0; 8]);
        assert_eq!(received.unwrap_err().kind(), ErrorKind::WouldBlock);
    }
}

#[test]
fn there_is_no_way_out() {
    // Addresses for documentation: nobody is there, even without a sandbox.
    let host = TestHost::new();
    let attack = "perl -MIO::Socket::INET -e '
            for my $peer (\"192.0.2.1:443\", \"198.51.100.1:80\", \"169.254.169.254:80\") {
                IO::Socket::INET->new(PeerAddr => $peer, Timeout => 1);
                print \"$!\\n\";
            }
            my $udp = IO::Socket::INET->new(PeerAddr => \"192.0.2.1:53\", Proto => \"udp\");
            print \"$!\\n\";'
        sed -n '3,$s/:.*//p' /proc/net/dev | tr -d ' '; tail -n +2 /proc/net/route
        getent hosts codeteam.invalid || echo unresolved";
    let unreachable = "Network is unreachable\n".repeat(4);
    for case in everywhere() {
        let ended = host.sh(case, attack);
        assert_eq!(
            ended.stdout,
            format!("{unreachable}lo\nunresolved\n"),
            "{ended:?}"
        );
    }
}

#[test]
fn sockets_in_files_and_abstract_ones_are_not_reached() {
    let host = TestHost::new();
    // One beside the work tree, one in the middle of it.
    let files = ["docker.sock", "tree/server.sock"].map(|name| host.path(name));
    let name = format!("codeteam-{}", std::process::id());
    let abstracted = SocketAddr::from_abstract_name(&name).unwrap();
    let mut listeners = Vec::from(
        files
            .each_ref()
            .map(|path| UnixListener::bind(path).unwrap()),
    );
    listeners.push(UnixListener::bind_addr(&abstracted).unwrap());
    let attack = format!(
        "perl -MSocket -e 'for my $path (\"{}\", \"{}\", \"\\0{name}\") {{
            my $s;
            socket($s, AF_UNIX, SOCK_STREAM, 0) and connect($s, pack(\"S a*\", AF_UNIX, $path))
                and print \"connected\\n\";
        }}'",
        files[0].display(),
        files[1].display(),
    );
    assert_eq!(
        unconfined(&host.tree(), &attack).stdout,
        "connected\n".repeat(3)
    );
    for listener in &listeners {
        listener.accept().unwrap();
        listener.set_nonblocking(true).unwrap();
    }
    for case in everywhere() {
        assert_eq!(host.sh(case, &attack).stdout, "");
        for listener in &listeners {
            assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
        }
    }
}

#[test]
fn sockets_that_take_datagrams_are_not_reached() {
    let host = TestHost::new();
    let path = host.path("tree/syslog.sock");
    let socket = UnixDatagram::bind(&path).unwrap();
    // By an address with each message, and by a connection.
    let attack = format!(
        "perl -MSocket -e 'my $to = pack(\"S a*\", AF_UNIX, \"{}\");
        for my $kind (SOCK_DGRAM, SOCK_RAW) {{
            socketpair(my $a, my $b, AF_UNIX, $kind, 0) or next;
            send($a, \"sent\", 0, $to) and print \"sent\\n\";
            connect($b, $to) and send($b, \"sent\", 0) and print \"connected\\n\";
        }}
        for my $kind (SOCK_STREAM, SOCK_SEQPACKET) {{
            socketpair(my $a, my $b, AF_UNIX, $kind, 0) or die;
            close($b);
            connect($a, $to) and print \"connected\\n\";
            $SIG{{PIPE}} = \"IGNORE\"; send($a, \"sent\", 0, $to) and print \"sent\\n\";
        }}'",
        path.display(),
    );
    assert_eq!(
        unconfined(&host.tree(), &attack).stdout,
        "sent\nconnected\n".repeat(2)
    );
    let mut buffer = [0; 16];
    for _ in 0..4 {
        assert_eq!(socket.recv(&mut buffer).unwrap(), 4);
    }
    socket.set_nonblocking(true).unwrap();
    for case in everywhere() {
        let ended = host.sh(case, &attack);
        assert_eq!(ended.stdout, "", "{ended:?}");
        let received = socket.recv(&mut buffer);
        assert_eq!(received.unwrap_err().kind(), ErrorKind::WouldBlock);
    }
}

#[test]
fn a_test_server_on_the_own_loopback_works() {
    let host = TestHost::new();
    let script = "perl -MIO::Socket::INET -e '
        my $server = IO::Socket::INET->new(Listen => 1, LocalAddr => \"127.0.0.1\") or die;
        my $client = IO::Socket::INET->new(\"localhost:\" . $server->sockport) or die;
        print $client \"x\\n\"; $client->flush; my $peer = $server->accept; print scalar <$peer>;
        socketpair(my $a, my $b, 1, 1, 0) or die; print \"pair\\n\"'";
    for case in everywhere() {
        let ended = host.sh(case, script);
        assert_eq!(ended.stdout, "x\npair\n", "{ended:?}");
    }
}
